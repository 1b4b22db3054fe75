import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';

/** Retry policy. */
export interface RetryOptions {
  /** Delays between attempts; the last one repeats while the engine serves no request at all. */
  delaysSeconds: readonly number[];
  /** Maximum duration of a complete outage. */
  outageSeconds: number;
}

/** A restarting or overloaded engine recovers within a minute; an operator reacts within a quarter of an hour. */
const DEFAULT_RETRY: RetryOptions = { delaysSeconds: [1, 2, 4, 8, 15, 30], outageSeconds: 900 };

/** Time of the last successful call per engine, by `performance.now()`. */
const lastSuccess = new WeakMap<object, number>();

/** The embedding model serves no requests: fails the job instead of the document. */
export class EmbedderUnavailable extends IngestionError {
  constructor(seconds: number, cause: unknown) {
    const minutes = Math.round(seconds / 60);
    super('server_error', `The embedding model has been unavailable for ${minutes} minutes.`, cause);
  }
}

/**
 * Retries a call while the engine is unavailable, because a failed document is only retried by the next sync. Throws
 * `server_error` when the engine serves other calls but not this one, `EmbedderUnavailable` after an outage, other errors
 * immediately, and the signal's reason.
 */
export async function retryWhileUnavailable<T>(
  call: () => Promise<T>,
  { engine, signal, retry = DEFAULT_RETRY }: { engine: object; signal: AbortSignal; retry?: RetryOptions },
): Promise<T> {
  const start = performance.now();
  const { delaysSeconds, outageSeconds } = retry;
  for (let attempt = 0; ; attempt++) {
    try {
      const result = await call();
      lastSuccess.set(engine, performance.now());
      return result;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'engine_unavailable') throw error;
      const servesOthers = (lastSuccess.get(engine) ?? Number.NEGATIVE_INFINITY) > start;
      if (servesOthers && attempt >= delaysSeconds.length) {
        throw new IngestionError(
          'server_error',
          'The embedding model repeatedly rejected the document as unavailable.',
          error,
        );
      }
      if (performance.now() - start >= outageSeconds * 1000) throw new EmbedderUnavailable(outageSeconds, error);
    }
    await delay((delaysSeconds[attempt] ?? delaysSeconds.at(-1) ?? 0) * 1000, undefined, { signal });
  }
}
