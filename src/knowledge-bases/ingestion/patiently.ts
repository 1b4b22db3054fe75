import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';

/** Between the tries of a call: an engine that is started again, or that has too much to do, answers within a minute. */
const PAUSES_SECONDS: readonly number[] = [1, 2, 4, 8, 15, 30];

/**
 * Makes a call to an engine again while it says that it cannot answer at present: nobody waits for a document as for an answer, and one
 * that fails is only tried again at the next sync. Throws what the last try throws, any other error, and the signal's reason.
 */
export async function patiently<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
  pausesSeconds = PAUSES_SECONDS,
): Promise<T> {
  for (const seconds of pausesSeconds) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'engine_unavailable') throw error;
    }
    await pause(seconds * 1000, undefined, { signal });
  }
  return call();
}
