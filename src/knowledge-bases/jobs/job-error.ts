import { ApiError } from '../../errors.ts';
import { IngestionError, type JobErrorCode } from '../../extraction/ingestion-error.ts';

/** The error of a job or of one of its documents. `retryable`: trying again later may help. */
export interface JobError {
  code: JobErrorCode;
  /** Message for the caller. */
  message: string;
  param: null;
  retryable: boolean;
}

const RETRYABLE: ReadonlySet<JobErrorCode> = new Set(['rate_limited', 'timeout', 'server_error']);

/** Converts an error for the API. Errors without a message for callers become `server_error`. */
export function toJobError(error: unknown): JobError {
  if (error instanceof ApiError && error.code === 'insufficient_credits') {
    return { code: 'access_denied', message: error.message, param: null, retryable: false };
  }
  const isOurs = error instanceof IngestionError;
  const code = isOurs ? error.code : 'server_error';
  const message = isOurs ? error.message : 'Something went wrong on our side; the log of the service says what.';
  return { code, message, param: null, retryable: RETRYABLE.has(code) };
}
