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
