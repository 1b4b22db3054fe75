import { setImmediate } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';

/** The exit code of a process that was told twice to end: 128 and the number of SIGTERM. */
const KILLED = 143;

/** Ends the process if it received a signal while it was loading: imports block the event loop, so the handlers of start.js run here. */
export async function endIfStopped(): Promise<void> {
  await setImmediate();
}

/** Resolves at the first SIGTERM or SIGINT. A second one ends the process at once. */
export function untilStopped(logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    let isTold = false;
    const tell = (signal: string) => {
      if (isTold) process.exit(KILLED);
      isTold = true;
      logger.info({ signal }, 'stopping: no new work, running answers may end; a second signal ends at once');
      resolve();
    };
    // Replaces the handlers of start.js.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, tell);
  });
}
