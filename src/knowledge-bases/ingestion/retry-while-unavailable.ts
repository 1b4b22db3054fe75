import { ApiError } from '../../errors.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { retry } from '../../lib/retry.ts';

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
 * `server_error` when the engine serves other calls but not this one, `EmbedderUnavailable` after an outage, other
 * errors immediately, and the signal's reason.
 */
export async function retryWhileUnavailable<T>(
  call: () => Promise<T>,
  {
    engine,
    signal,
    retry: retryOptions = DEFAULT_RETRY,
  }: { engine: object; signal: AbortSignal; retry?: RetryOptions },
): Promise<T> {
  const start = performance.now();
  const { delaysSeconds, outageSeconds } = retryOptions;
  const servesOthers = () => (lastSuccess.get(engine) ?? Number.NEGATIVE_INFINITY) > start;
  try {
    const result = await retry(call, {
      delaysMs: delaysSeconds.map((seconds) => seconds * 1000),
      budgetMs: outageSeconds * 1000,
      isPassing: (error, retries) => isUnavailable(error) && !(servesOthers() && retries >= delaysSeconds.length),
      signal,
    });
    lastSuccess.set(engine, performance.now());
    return result;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    if (!servesOthers()) throw new EmbedderUnavailable(outageSeconds, error);
    const message = 'The embedding model repeatedly rejected the document as unavailable.';
    throw new IngestionError('server_error', message, error);
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof ApiError && error.code === 'engine_unavailable';
