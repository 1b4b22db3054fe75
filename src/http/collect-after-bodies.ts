import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Released bytes that trigger a collection. Smaller bodies are left to V8's own schedule. */
const COLLECT_BYTES = 33_554_432;
/** Minimum interval between collections: each one pauses the process for about 50 ms. */
const PAUSE_MS = 10_000;

/**
 * Returns a callback for released body sizes that requests a major garbage collection after large bodies. V8 collects
 * only under allocation pressure, so an idle service would otherwise hold hundreds of megabytes of garbage for hours.
 */
export function collectAfterBodies(): (releasedBytes: number) => void {
  let pendingBytes = 0;
  let timer: NodeJS.Timeout | null = null;
  return (releasedBytes) => {
    pendingBytes += releasedBytes;
    if (timer !== null || pendingBytes < COLLECT_BYTES) return;
    timer = setTimeout(() => {
      timer = null;
      pendingBytes = 0;
      collect();
    }, PAUSE_MS).unref();
  };
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  gc({ type: 'major', execution: 'async' });
}
