import { type ComponentType, lazy, type ReactElement, Suspense } from 'react';
import { loadPage } from '../api/load-page.ts';

const suspend = (Part: ComponentType<object>, props: object, fallback: ReactElement | null) => (
  <Suspense fallback={fallback}>
    <Part {...props} />
  </Suspense>
);

/**
 * A part of a page, such as a dialog, whose file loads when the part is first shown. `name`: its export. `fallback`:
 * shown until then.
 */
export function lazyPart<Module, const Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
  fallback: ReactElement | null = null,
): Module[Name] {
  const Part = lazy(async () => ({ default: (await loadPage(load))[name] as ComponentType<object> }));
  return ((props: object) => suspend(Part, props, fallback)) as Module[Name];
}
