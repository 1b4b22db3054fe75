import { setImmediate } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';

/** Exit code after a second signal: 128 + SIGTERM. */
const EXIT_SIGTERM = 143;

/** Ends the process if it received a signal while it was loading: imports block the event loop, so the handlers of start.js run here. */
export async function exitIfSignalled(): Promise<void> {
  await setImmediate();
}

/** Resolves on the first SIGTERM or SIGINT. A second one exits immediately. */
export function waitForSignal(logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (signal: string) => {
      if (isStopping) process.exit(EXIT_SIGTERM);
      isStopping = true;
      logger.info({ signal }, 'shutting down: waiting for running requests; a second signal exits immediately');
      resolve();
    };
    // Replaces the handlers of start.js.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, onSignal);
  });
}
