import { OperatorError } from '../lib/operator-error.ts';

/** Whoever called the command has stopped it; the sentence says what became of the work. The process exits with 130. */
export class Interrupted extends OperatorError {}

/** Under `npm run` a Ctrl-C of the terminal may come once more from npm: within this time it is one. */
const ONE_PRESS_MS = 500;
/** The exit code of a process that was told twice to end: 128 and the number of SIGINT. */
const KILLED = 130;

/**
 * Runs `work` with a signal that the first SIGINT or SIGTERM aborts, so that it can put in order what it has begun. A second one ends
 * the process at once.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  let firstMs: number | null = null;
  const tell = () => {
    const now = performance.now();
    if (firstMs !== null && now - firstMs > ONE_PRESS_MS) process.exit(KILLED);
    firstMs ??= now;
    stop.abort(new Interrupted('Stopped.'));
  };
  process.on('SIGINT', tell).on('SIGTERM', tell);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', tell).off('SIGTERM', tell);
  }
}
