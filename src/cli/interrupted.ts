import { OperatorError } from '../lib/operator-error.ts';

/** The user has stopped the command. The message states what became of the work. The process exits with code 130. */
export class Interrupted extends OperatorError {}

/** Signals within this time count as one: under `npm run`, npm forwards the Ctrl-C that the terminal has sent. */
const REPEAT_WINDOW_MS = 500;
/** Exit code after a second signal: 128 + SIGINT. */
const EXIT_SIGINT = 130;

/**
 * Runs `work` with an AbortSignal. The first SIGINT or SIGTERM aborts it, so that `work` can clean up. A second one
 * exits immediately.
 */
export async function runInterruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  let firstMs: number | null = null;
  const onSignal = () => {
    const now = performance.now();
    if (firstMs !== null && now - firstMs > REPEAT_WINDOW_MS) process.exit(EXIT_SIGINT);
    firstMs ??= now;
    abort.abort(new Interrupted('Stopped.'));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(abort.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
