import { setImmediate } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';

/** Exit code after a second signal: 128 + SIGTERM. */
const EXIT_SIGTERM = 143;
/** Signals within this time count as one: under `npm start`, npm forwards the Ctrl-C that the terminal has sent. */
const REPEAT_WINDOW_MS = 500;

/** Ends the process after a signal during loading: imports block the event loop, so start.js's handlers run here. */
export async function exitIfSignalled(): Promise<void> {
  await setImmediate();
}

/**
 * Resolves on the first SIGTERM or SIGINT, and on SIGHUP if the process has a terminal, which was closed then. A second
 * one exits immediately.
 */
export function waitForSignal(logger: Logger): Promise<void> {
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const signals: NodeJS.Signals[] = ['SIGTERM', 'SIGINT', ...(hasTerminal ? (['SIGHUP'] as const) : [])];
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: string) => {
      const now = performance.now();
      const isRepeat = firstMs !== null && signal !== 'SIGTERM' && now - firstMs <= REPEAT_WINDOW_MS;
      if (isRepeat) return;
      if (firstMs !== null) process.exit(EXIT_SIGTERM);
      firstMs = now;
      logger.info({ signal }, 'shutting down: waiting for running requests; a second signal exits immediately');
      resolve();
    };
    // Replaces the handlers of start.js.
    for (const signal of signals) process.removeAllListeners(signal).on(signal, onSignal);
  });
}
