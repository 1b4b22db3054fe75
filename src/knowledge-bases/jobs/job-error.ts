import { ApiError } from '../../errors.ts';

/** Codes of errors of documents and jobs. */
export const JOB_ERROR_CODES = [
  'unsupported_file',
  'invalid_file',
  'encrypted_file',
  'no_text',
  'file_not_found',
  'authentication_failed',
  'access_denied',
  'not_found',
  'rate_limited',
  'timeout',
  'blocked_url',
  'too_large',
  'connector_unavailable',
  'cancelled',
  'server_error',
] as const;

/** One of `JOB_ERROR_CODES`. */
export type JobErrorCode = (typeof JOB_ERROR_CODES)[number];

/** The error of a job or of one of its documents. `retryable`: trying again later may help. */
export interface JobError {
  code: JobErrorCode;
  /** Message for the caller. */
  message: string;
  param: null;
  retryable: boolean;
}

const RETRYABLE: ReadonlySet<JobErrorCode> = new Set(['rate_limited', 'timeout', 'server_error']);

/** Error of a source, an extractor or a job. Other errors are reported as `server_error`. */
export class IngestionError extends Error {
  override readonly name = 'IngestionError';
  readonly code: JobErrorCode;
  /** Path of the config's field that the error is about, such as `urls.0`, where the connector knows it. */
  configField?: string;

  constructor(code: JobErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Converts an error for the API. Errors without a message for callers become `server_error`. */
export function jobErrorOf(error: unknown): JobError {
  if (error instanceof ApiError && error.code === 'insufficient_credits') {
    return { code: 'access_denied', message: error.message, param: null, retryable: false };
  }
  const isOurs = error instanceof IngestionError;
  const code = isOurs ? error.code : 'server_error';
  const message = isOurs ? error.message : 'Something went wrong on our side; the log of the service says what.';
  return { code, message, param: null, retryable: RETRYABLE.has(code) };
}
