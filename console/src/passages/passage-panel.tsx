import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { Drawer } from '../ui/dialogs.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { usePassageMessages } from './messages.ts';
import { OpenPassage } from './open-passage.ts';
import type { Passage } from './passage.ts';

const PassageView = lazyPart(() => import('./passage-view.tsx'), 'PassageView');

/** Screens with room for the panel, as in `console.css`. */
const WIDE = '(min-width: 75em)';

/** Shows passages in a panel: beside its children, which stay usable, or above them on narrow screens. */
export function PassagePanel({ children }: { children: ReactNode }) {
  const messages = usePassageMessages();
  const [passage, setPassage] = useState<Passage | null>(null);
  const hasRoom = useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
  return (
    <OpenPassage value={setPassage}>
      <div className={passage === null ? undefined : 'beside-panel'}>{children}</div>
      <Drawer
        opened={passage !== null}
        onClose={() => setPassage(null)}
        position="right"
        size="var(--panel-width)"
        withOverlay={!hasRoom}
        lockScroll={!hasRoom}
        shadow="xl"
        title={passage?.title ?? messages.passage}
      >
        {passage !== null && <PassageView key={`${passage.chunkId} ${passage.start}`} passage={passage} />}
      </Drawer>
    </OpenPassage>
  );
}
