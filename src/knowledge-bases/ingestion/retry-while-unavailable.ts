import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import { IngestionError } from '../jobs/job-error.ts';

/** How long a call is made again. */
export interface RetryOptions {
  /** Between the tries; the last one again and again, while the engine answers nobody. */
  pausesSeconds: readonly number[];
  /** How long it may answer nobody. */
  outageSeconds: number;
}

/** An engine that is started again, or that has too much to do, answers within a minute; who has to see to it, within a quarter of an hour. */
const PATIENCE: RetryOptions = { pausesSeconds: [1, 2, 4, 8, 15, 30], outageSeconds: 900 };

/** When each engine has last answered a call that was made retryWhileUnavailable, in milliseconds of `performance.now()`. */
const answeredAt = new WeakMap<object, number>();

/** The embedding model answers nobody: that is no document's fault, and the next would only wait as long. */
export class EmbedderUnavailable extends IngestionError {
  constructor(seconds: number, cause: unknown) {
    const minutes = Math.round(seconds / 60);
    super('server_error', `The embedding model has not answered for ${minutes} minutes.`, cause);
  }
}

/**
 * Makes a call to an engine again while it says that it cannot answer at present: nobody waits for a document as for an answer, and one
 * that fails is only tried again at the next sync. Throws `server_error` where the engine answers others and not this, `EmbedderUnavailable` where
 * it answers nobody for long, any other error, and the signal's reason.
 */
export async function retryWhileUnavailable<T>(
  call: () => Promise<T>,
  { engine, signal, patience = PATIENCE }: { engine: object; signal: AbortSignal; patience?: RetryOptions },
): Promise<T> {
  const since = performance.now();
  const { pausesSeconds, outageSeconds } = patience;
  for (let tries = 0; ; tries++) {
    try {
      const answer = await call();
      answeredAt.set(engine, performance.now());
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'engine_unavailable') throw error;
      const answersOthers = (answeredAt.get(engine) ?? Number.NEGATIVE_INFINITY) > since;
      if (answersOthers && tries >= pausesSeconds.length) {
        throw new IngestionError('server_error', 'The embedding model did not take the document.', error);
      }
      if (performance.now() - since >= outageSeconds * 1000) throw new EmbedderUnavailable(outageSeconds, error);
    }
    await pause((pausesSeconds[tries] ?? pausesSeconds.at(-1) ?? 0) * 1000, undefined, { signal });
  }
}
