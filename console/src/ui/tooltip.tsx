import { cloneElement, type PointerEvent, type ReactElement, useState } from 'react';
import { lazyPart } from './lazy-part.tsx';

const MantineTooltip = lazyPart(() => import('./mantine-tooltip.ts'), 'Tooltip');

/** Mantine's tooltip, loaded when the pointer first enters its child. It opens when the pointer then moves. */
export function Tooltip({ label, children }: { label: string; children: ReactElement<object> }) {
  const [target, setTarget] = useState<HTMLElement | null>(null);
  const props = { onPointerEnter: (event: PointerEvent<HTMLElement>) => setTarget(event.currentTarget) };
  return (
    <>
      {cloneElement(children, props)}
      {target !== null && <MantineTooltip target={target} label={label} />}
    </>
  );
}
