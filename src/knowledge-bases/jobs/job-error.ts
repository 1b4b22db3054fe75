/** Why a document or a job failed: as the job object and its details show it. */
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
  'server_error',
] as const;

/** One of `JOB_ERROR_CODES`. */
export type JobErrorCode = (typeof JOB_ERROR_CODES)[number];

/** The error of a job or of one of its documents. `retryable`: trying again later may help. */
export interface JobError {
  code: JobErrorCode;
  /** A sentence for the caller. */
  message: string;
  param: null;
  retryable: boolean;
}

const RETRYABLE: ReadonlySet<JobErrorCode> = new Set(['rate_limited', 'timeout', 'server_error']);

/** An error that a source, an extractor or a job ends with. Anything else that is thrown becomes `server_error`. */
export class IngestionError extends Error {
  override readonly name = 'IngestionError';
  readonly code: JobErrorCode;

  constructor(code: JobErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** What the wire shows of an error. What is not meant for callers is `server_error` and says no more. */
export function jobErrorOf(error: unknown): JobError {
  const isOurs = error instanceof IngestionError;
  const code = isOurs ? error.code : 'server_error';
  const message = isOurs ? error.message : 'Something went wrong on our side; the log of the service says what.';
  return { code, message, param: null, retryable: RETRYABLE.has(code) };
}
