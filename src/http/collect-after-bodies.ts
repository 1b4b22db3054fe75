import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Released bytes after which memory is worth collecting; smaller bodies are collected along with everything else. */
const COLLECT_BYTES = 33_554_432;
/** A collection stops the process for about 50 ms, so a flood of large bodies causes one in this time. */
const PAUSE_MS = 10_000;

/**
 * Gives a function that is told the size of every released body. It asks V8 for a major collection after large ones: V8 collects
 * when it needs memory, and an idle service would hold hundreds of megabytes of dead bodies for hours.
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
