/**
 * Error catalogue of the API: one class, and one function per error. `message` is sent to the caller. `cause` has the
 * details for the operator; it is logged and never sent.
 */

/** Values of `error.type`. */
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

/** Body of error responses. `param`: dotted path in the body, name of a query or path parameter, or null. */
export interface ErrorBody {
  error: { message: string; type: ErrorType; param: string | null; code: string } & ErrorDetails;
}

/** Further fields of the body of an error that a guardrail policy causes. */
export interface ErrorDetails {
  reasons?: readonly string[];
  policy_id?: string;
}

/** Properties of an `ApiError`. `retryAfterSeconds` is sent as `Retry-After`. */
export interface ErrorFacts {
  status: number;
  type: ErrorType;
  code: string;
  message: string;
  param?: string | null;
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  details?: ErrorDetails;
  cause?: unknown;
}

/** An error of the catalogue. Any other thrown error becomes a 500 without details. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly type: ErrorType;
  readonly code: string;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  readonly headers: Record<string, string>;
  readonly details: ErrorDetails;

  constructor(options: ErrorFacts) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.type = options.type;
    this.code = options.code;
    this.param = options.param ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
    this.headers = options.headers ?? {};
    this.details = options.details ?? {};
  }

  /** Returns the response body. */
  body(): ErrorBody {
    const { message, type, param, code, details } = this;
    return { error: { message, type, param, code, ...details } };
  }
}

const badRequest = (code: string, message: string, param: string | null): ApiError =>
  new ApiError({ status: 400, type: 'invalid_request_error', code, message, param });

/** 400: a required field is missing. `param` is its dotted path. */
export const missingField = (param: string): ApiError =>
  badRequest('missing_required_field', `'${param}' is required.`, param);

/** 400: the value of a field is not accepted. `predicate` completes the sentence "'param' ...". */
export const invalidValue = (param: string, predicate: string): ApiError =>
  badRequest('invalid_value', `'${param}' ${predicate}.`, param);

/** 400: the body is not JSON. */
export const invalidJson = (defect: string): ApiError =>
  badRequest('invalid_json', `The request body is not valid JSON: ${defect}.`, null);

/** 400: the prompt is longer than the model's context. `param` is `messages`, `prompt` or `input`. */
export const contextLengthExceeded = (param: string, promptTokens: number | null, contextTokens: number): ApiError =>
  badRequest(
    'context_length_exceeded',
    // LangChain and others recognize "maximum context length".
    `This model's maximum context length is ${contextTokens} tokens, ${promptTokens === null ? `and your ${param} exceeds it` : `but your ${param} has ${promptTokens} tokens`}.`,
    param,
  );

/** 400: a text exceeds its token limit. `param` is its dotted path. */
export const tokenLimitExceeded = (param: string, limitTokens: number): ApiError =>
  badRequest('token_limit_exceeded', `'${param}' has more than ${limitTokens} tokens.`, param);

/** 400: `previous_response_id` names no stored response of the organization, or one that has expired. */
export const previousResponseNotFound = (id: string): ApiError =>
  badRequest(
    'previous_response_not_found',
    `There is no stored response '${truncateForMessage(id)}' to continue.`,
    'previous_response_id',
  );

/** 400: a WebSocket has reached its maximum age. */
export const webSocketTooOld = (minutes: number): ApiError =>
  badRequest(
    'websocket_connection_limit_reached',
    `This WebSocket has been open for ${minutes} minutes; open another one.`,
    null,
  );

/** 400: a guardrail policy blocks the input. `param` is `messages` on every route. */
export const contentFiltered = (reasons: readonly string[], policyId: string): ApiError =>
  new ApiError({
    status: 400,
    type: 'content_policy_violation',
    code: 'content_filtered',
    message: `The input was blocked by the content policy of your organization: ${reasons.join('; ')}.`,
    param: 'messages',
    headers: { 'x-guardrail-policy': policyId },
    details: { reasons, policy_id: policyId },
  });

const REALM = 'realm="quire"';
/** Challenge of routes for API keys (RFC 6750, section 3). */
const BEARER_CHALLENGE = `Bearer ${REALM}`;
/**
 * Challenge of session routes, which take no key: RFC 9110 requires one on every 401, and has no scheme for cookies.
 * Clients ignore schemes that they do not know; browsers would ask for a password themselves after `Basic`.
 */
const SESSION_CHALLENGE = `Cookie ${REALM}, form-action="/sign-in", cookie-name="quire_session"`;

const unauthenticated = (code: string, message: string, challenge: string, param: string | null = null): ApiError =>
  new ApiError({
    status: 401,
    type: 'authentication_error',
    code,
    message,
    param,
    headers: { 'www-authenticate': challenge },
  });

/** 401: the request has no API key, or not in the form of one. */
export const missingApiKey = (message: string): ApiError =>
  unauthenticated('invalid_api_key', message, BEARER_CHALLENGE);

/** 401: the API key is unknown, revoked or expired. */
export const invalidApiKey = (message: string): ApiError =>
  unauthenticated('invalid_api_key', message, `${BEARER_CHALLENGE}, error="invalid_token"`);

/** 401: the session cookie is missing, unknown or expired. */
export const invalidSession = (): ApiError =>
  unauthenticated(
    'invalid_session',
    'You are not signed in, or your session has ended. Sign in again.',
    SESSION_CHALLENGE,
  );

/** 401: no account has this email and password. */
export const invalidCredentials = (param: string | null = null): ApiError =>
  unauthenticated(
    'invalid_credentials',
    param === null ? 'The email or the password is wrong.' : `'${param}' is wrong.`,
    SESSION_CHALLENGE,
    param,
  );

/** 401: the sign-in of a user without a password is too old for a change of the ways to sign in. */
export const signInTooOld = (): ApiError =>
  unauthenticated(
    'invalid_credentials',
    'You signed in more than ten minutes ago. Sign in again, then repeat the change.',
    SESSION_CHALLENGE,
  );

/** 400: the invitation is unknown, used, withdrawn or expired. */
export const invalidInvitation = (): ApiError =>
  badRequest('invalid_value', 'This invitation was used, withdrawn or has expired. Ask for a new link.', 'token');

/** 400: the link that sets a password is unknown, used or expired. */
export const invalidPasswordReset = (): ApiError =>
  badRequest('invalid_value', 'This link was used or has expired. Ask for a new one.', 'token');

/** 402: the credits of the organization, or the budget of the key, do not cover the call. */
export const insufficientCredits = (message: string): ApiError =>
  new ApiError({ status: 402, type: 'billing_error', code: 'insufficient_credits', message });

/** 403: the key or the role of the user lacks a right. */
export const insufficientScope = (message: string, param: string | null = null): ApiError =>
  new ApiError({ status: 403, type: 'permission_error', code: 'insufficient_scope', message, param });

/** 403: the request comes from a page of another origin. */
export const crossSiteRequest = (): ApiError =>
  insufficientScope('Requests with a session cookie must come from the console itself.');

/** 403: viewers may only read. */
export const readOnlyRole = (): ApiError => insufficientScope("Your role 'viewer' may only read.");

/** 404: the object does not exist, or belongs to another organization. */
export const notFound = (resource: string, id: string, param: string | null): ApiError =>
  new ApiError({
    status: 404,
    type: 'not_found_error',
    code: `${resource}_not_found`,
    message: `There is no ${resource.replaceAll('_', ' ')} '${truncateForMessage(id)}'.`,
    param,
  });

/** 404: the model exists but does another task. `usable`: ids of models that do the task. */
export const unsupportedModel = (id: string, task: string, usable: readonly string[], param: string): ApiError =>
  new ApiError({
    status: 404,
    type: 'not_found_error',
    code: 'model_not_found',
    message: `The model '${truncateForMessage(id)}' does not do ${task}; ${usable.length === 0 ? 'no model does at present' : `these do: ${usable.join(', ')}`}.`,
    param,
  });

/** 404: no route at that path. `isOfApi`: there is one below `/v1`. */
export const unknownUrl = (method: string, path: string, isOfApi = false): ApiError =>
  new ApiError({
    status: 404,
    type: 'not_found_error',
    code: 'unknown_url',
    message: `There is nothing at ${method} ${truncateForMessage(path)}${isOfApi ? "; the base URL of API clients ends with '/v1'" : ''}.`,
  });

/** 405: the path exists, the method does not. `allowed` goes into the header `Allow`. */
export const methodNotAllowed = (method: string, path: string, allowed: readonly string[]): ApiError =>
  new ApiError({
    status: 405,
    type: 'invalid_request_error',
    code: 'method_not_allowed',
    message: `${method} is not allowed at ${truncateForMessage(path)}; use ${allowed.join(' or ')}.`,
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
export const idempotencyConflict = (message: string): ApiError =>
  new ApiError({ status: 409, type: 'conflict_error', code: 'idempotency_conflict', message });

/** 409: a running job or batch uses the file. */
export const fileInUse = (id: string): ApiError =>
  new ApiError({
    status: 409,
    type: 'conflict_error',
    code: 'file_in_use',
    message: `The file '${id}' is used by a running job or batch; delete it afterwards.`,
    param: 'file_id',
  });

/** 409: the batch has ended, or all of its lines have. */
export const batchNotCancellable = (id: string, status: string): ApiError =>
  new ApiError({
    status: 409,
    type: 'conflict_error',
    code: 'batch_not_cancellable',
    message: `The batch '${id}' cannot be cancelled: its status is '${status}'.`,
    param: 'batch_id',
  });

/** 413: the body, or the part of it named by `what`, exceeds the limit. */
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

/** 415: the route requires another content type. `contentType` is empty when the request has none. */
export const unsupportedMediaType = (contentType: string, required = 'application/json'): ApiError =>
  new ApiError({
    status: 415,
    type: 'invalid_request_error',
    code: 'unsupported_media_type',
    message:
      contentType === ''
        ? `Send the body as ${required}, and name that type in the header 'Content-Type'.`
        : `Send the body as ${required}, not as '${truncateForMessage(contentType)}'.`,
  });

/** 415: the body is compressed. */
export const unsupportedContentEncoding = (encoding: string): ApiError =>
  new ApiError({
    status: 415,
    type: 'invalid_request_error',
    code: 'unsupported_media_type',
    message: `Send the body uncompressed; the encoding '${truncateForMessage(encoding)}' is not supported.`,
    param: 'content-encoding',
  });

/** 416: the range starts after the end of a file of `bytes` bytes. */
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

/** 429: a rate limit is exceeded. `waitSeconds` is rounded up, to at least 1. */
export const rateLimitExceeded = (
  message: string,
  waitSeconds: number,
  headers: Record<string, string> = {},
): ApiError =>
  new ApiError({
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    message,
    retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
    headers,
  });

/** 500: internal error. The cause is logged. */
export const serverError = (cause?: unknown): ApiError =>
  new ApiError({
    status: 500,
    type: 'server_error',
    code: 'server_error',
    message:
      'The server failed to answer this request. The operator finds the reason in the log under the x-request-id.',
    cause,
  });

/** 503: the engine of the model is unavailable. */
export const engineUnavailable = (message: string, retryAfterSeconds: number, cause?: unknown): ApiError =>
  new ApiError({
    status: 503,
    type: 'server_error',
    code: 'engine_unavailable',
    message,
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds)),
    cause,
  });

/** The embedded database starts again within a second; a longer failure is not worth more requests a second. */
const DATABASE_RETRY_SECONDS = 1;

/** 503: the database does not answer now. */
export const databaseUnavailable = (cause: unknown): ApiError =>
  engineUnavailable('The database does not answer at the moment.', DATABASE_RETRY_SECONDS, cause);

/** Outages of a blob store or a search index last longer than a restart of the database. */
const STORE_RETRY_SECONDS = 5;

/** 503: the blob store or the search index does not answer now. */
export const storeUnavailable = (cause: unknown): ApiError =>
  engineUnavailable('The storage of this service does not answer at the moment.', STORE_RETRY_SECONDS, cause);

/** 503: a store or the database rejects writes, usually because its disk is full. Nothing unstored is acknowledged. */
export const storageNotWritable = (cause: unknown): ApiError =>
  engineUnavailable(
    'This service cannot store anything at the moment: its disk is full or not writable. The operator finds the reason in the log.',
    STORE_RETRY_SECONDS,
    cause,
  );

/** Longer than every id and path of Quire. Bounds values of requests in messages. */
const MAX_ECHOED_CHARACTERS = 120;

function truncateForMessage(text: string): string {
  const clean = text.toWellFormed();
  return clean.length <= MAX_ECHOED_CHARACTERS ? clean : `${clean.slice(0, MAX_ECHOED_CHARACTERS).toWellFormed()}...`;
}
