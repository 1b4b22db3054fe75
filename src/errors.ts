/**
 * The errors that a caller of the API can see: one class, and one function for each entry of the catalogue.
 * The message is the caller's sentence; what the operator needs to know goes into `cause`, which is logged and never sent.
 */

/** The `type` of an error on the wire, each with the statuses it comes with. */
export type ErrorType =
  | 'invalid_request_error'
  | 'content_policy_violation'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'rate_limit_error'
  | 'server_error';

/** The body of every error answer. `param` is a dotted path from the body's root, or a parameter's name, or null. */
export interface ErrorBody {
  error: { message: string; type: ErrorType; param: string | null; code: string };
}

/** What an `ApiError` is made of. `retryAfterSeconds` becomes the header `Retry-After`. */
export interface ErrorFacts {
  status: number;
  type: ErrorType;
  code: string;
  message: string;
  param?: string | null;
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** An error with a place in the catalogue. Anything else that is thrown reaches the caller as a bare 500. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly type: ErrorType;
  readonly code: string;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  readonly headers: Record<string, string>;

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.type = facts.type;
    this.code = facts.code;
    this.param = facts.param ?? null;
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
    this.headers = facts.headers ?? {};
  }

  /** The error as the wire shows it. */
  body(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

const badRequest = (code: string, message: string, param: string | null): ApiError =>
  new ApiError({ status: 400, type: 'invalid_request_error', code, message, param });

/** 400: a required field is absent. `param` is its dotted path. */
export const missingField = (param: string): ApiError =>
  badRequest('missing_required_field', `'${param}' is required.`, param);

/** 400: a field's value is not accepted. `why` completes the sentence "'param' ...". */
export const invalidValue = (param: string, why: string): ApiError =>
  badRequest('invalid_value', `'${param}' ${why}.`, param);

/** 400: the body is not JSON. */
export const invalidJson = (why: string): ApiError =>
  badRequest('invalid_json', `The request body is not valid JSON: ${why}.`, null);

/** 400: the prompt is longer than the model's context. `param` is `messages`, `prompt` or `input`. */
export const contextLengthExceeded = (param: string, promptTokens: number | null, contextTokens: number): ApiError =>
  badRequest(
    'context_length_exceeded',
    `${promptTokens === null ? 'The prompt is' : `The prompt has ${promptTokens} tokens, which is`} longer than the model's context of ${contextTokens} tokens allows.`,
    param,
  );

/** 400: a text has more tokens than one may have. `param` is the text's dotted path. */
export const tokenLimitExceeded = (param: string, limitTokens: number): ApiError =>
  badRequest('token_limit_exceeded', `'${param}' has more than ${limitTokens} tokens.`, param);

/** 401: no key, or one that is unknown, revoked or expired. The three are not told apart to the caller. */
export const invalidApiKey = (why: string): ApiError =>
  new ApiError({ status: 401, type: 'authentication_error', code: 'invalid_api_key', message: why });

/** 403: the key is good, but lacks a scope or may not use the model. */
export const insufficientScope = (why: string, param: string | null = null): ApiError =>
  new ApiError({ status: 403, type: 'permission_error', code: 'insufficient_scope', message: why, param });

/** 404: nothing of that kind under that id which the caller may see. A foreign object is an unknown one. */
export const notFound = (resource: string, id: string, param: string): ApiError =>
  new ApiError({
    status: 404,
    type: 'not_found_error',
    code: `${resource}_not_found`,
    message: `There is no ${resource.replaceAll('_', ' ')} '${shown(id)}'.`,
    param,
  });

/** 404: no route at that path. */
export const unknownUrl = (method: string, path: string): ApiError =>
  new ApiError({
    status: 404,
    type: 'not_found_error',
    code: 'unknown_url',
    message: `There is nothing at ${method} ${shown(path)}.`,
  });

/** 405: the path exists, the method does not. `allowed` goes into the header `Allow`. */
export const methodNotAllowed = (method: string, path: string, allowed: readonly string[]): ApiError =>
  new ApiError({
    status: 405,
    type: 'invalid_request_error',
    code: 'method_not_allowed',
    message: `${method} is not allowed at ${shown(path)}; use ${allowed.join(' or ')}.`,
    headers: { allow: allowed.join(', ') },
  });

/** 408: the request did not arrive in time. */
export const requestTimeout = (): ApiError =>
  new ApiError({
    status: 408,
    type: 'invalid_request_error',
    code: 'request_timeout',
    message: 'The request did not arrive completely in time.',
  });

/** 409: the idempotency key was used with another body, or its first use is still running. */
export const idempotencyConflict = (why: string): ApiError =>
  new ApiError({ status: 409, type: 'conflict_error', code: 'idempotency_conflict', message: why });

/** 409: something that runs still needs the file. */
export const fileInUse = (id: string): ApiError =>
  new ApiError({
    status: 409,
    type: 'conflict_error',
    code: 'file_in_use',
    message: `The file '${id}' is needed by work that has not ended; delete it afterwards.`,
    param: 'file_id',
  });

/** 413: the body, or that part of it which is named, is larger than the limit. */
export const requestTooLarge = (limitBytes: number, what = 'The request body'): ApiError =>
  new ApiError({
    status: 413,
    type: 'invalid_request_error',
    code: 'request_too_large',
    message: `${what} is larger than ${limitBytes} bytes.`,
  });

/** 413: an uploaded file is larger than the limit. */
export const fileTooLarge = (limitBytes: number): ApiError =>
  new ApiError({
    status: 413,
    type: 'invalid_request_error',
    code: 'file_too_large',
    message: `The file is larger than ${limitBytes} bytes.`,
    param: 'file',
  });

/** 415: the body's content type is not the one that the route takes. `given` is empty where the request names none. */
export const unsupportedMediaType = (given: string, wanted = 'application/json'): ApiError =>
  new ApiError({
    status: 415,
    type: 'invalid_request_error',
    code: 'unsupported_media_type',
    message:
      given === ''
        ? `Send the body as ${wanted}, and name that type in the header 'Content-Type'.`
        : `Send the body as ${wanted}, not as '${shown(given)}'.`,
  });

/** 416: the header `Range` asks for bytes beyond the end of what has `bytes` bytes. */
export const rangeNotSatisfiable = (bytes: number): ApiError =>
  new ApiError({
    status: 416,
    type: 'invalid_request_error',
    code: 'range_not_satisfiable',
    message: `The header 'Range' asks for bytes that are not there; there are ${bytes}.`,
    headers: { 'content-range': `bytes */${bytes}` },
  });

/** 431: the request's headers are larger than Node accepts. */
export const headersTooLarge = (): ApiError =>
  new ApiError({
    status: 431,
    type: 'invalid_request_error',
    code: 'headers_too_large',
    message: 'The request headers are too large.',
  });

/** 429: over a limit. `waitSeconds` is rounded up to a whole second, at least 1. */
export const rateLimitExceeded = (message: string, waitSeconds: number): ApiError =>
  new ApiError({
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    message,
    retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
  });

/** 500: our fault. The cause is for the log. */
export const serverError = (cause?: unknown): ApiError =>
  new ApiError({
    status: 500,
    type: 'server_error',
    code: 'server_error',
    message:
      'The server failed to answer this request. The operator finds the reason in the log under the x-request-id.',
    cause,
  });

/** 503: the engine behind the model does not answer now. */
export const engineUnavailable = (message: string, retryAfterSeconds: number, cause?: unknown): ApiError =>
  new ApiError({
    status: 503,
    type: 'server_error',
    code: 'engine_unavailable',
    message,
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds)),
    cause,
  });

/** Long enough for every id and path of ours; what a caller sends may be megabytes, and is echoed. */
const SHOWN_CHARACTERS = 120;

function shown(text: string): string {
  const clean = text.toWellFormed();
  return clean.length <= SHOWN_CHARACTERS ? clean : `${clean.slice(0, SHOWN_CHARACTERS).toWellFormed()}...`;
}
