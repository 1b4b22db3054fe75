import { ApiError, contextLengthExceeded, engineUnavailable, invalidValue } from '../../errors.ts';
import { isRecord, parseJson } from '../../lib/json.ts';
import { parseRetryAfter } from '../../lib/retry-after.ts';
import { type ContextOverflow, parseContextOverflow } from './context-overflow.ts';
import { HttpExchangeError } from './http-exchange.ts';

/** Default `Retry-After` in seconds: a restart or a queue takes longer. */
const RETRY_SECONDS = 5;

/** `Retry-After` in seconds for errors that only the operator can fix. */
const OPERATOR_SECONDS = 60;

/** Maximum `Retry-After` that is passed on, in seconds: the clock of an upstream may be wrong. */
const MAX_RETRY_SECONDS = 3600;

/** Maximum characters of an upstream message that are passed on. */
const MAX_MESSAGE_CHARACTERS = 500;

/** Statuses for errors in the request itself. */
const CLIENT_ERROR_STATUSES = new Set([400, 413, 422, 501]);

/** Statuses of a server that has more requests than it serves; 529 is Anthropic's. */
export const OVERLOAD_STATUSES: ReadonlySet<number> = new Set([429, 529]);

/** Statuses of errors within a stream, by the type that names them. */
const STATUS_BY_TYPE: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** An error response of an upstream. */
export interface UpstreamError {
  status: number;
  /** Fields of the error; empty for a body that is not JSON. */
  error: Record<string, unknown>;
  /** The message on one line; empty when there is none. */
  upstreamMessage: string;
  retryAfterSeconds: number | null;
}

/** Origin of an error response, for the log only. */
export interface UpstreamErrorContext {
  /** The request field to report for a context overflow: `messages`, `prompt` or `input`. */
  param: string;
  /** Context length in tokens, if known. */
  contextLength: number | null;
  /** URL of the upstream without credentials and query. */
  address: string;
  apiKey: string | null;
}

/**
 * Parses the error formats of servers: `{error: {message, code}}` (OpenAI, vLLM, llama-server), `{error: "text",
 * error_type}` (TGI, Ollama), `{type: "error", error: {type, message}}` (Anthropic), `{message, object: "error"}`
 * (older vLLM), `{detail: ...}` (FastAPI) and plain text. HTML is dropped.
 */
export function parseUpstreamError(status: number, body: string, retryAfter: string | null): UpstreamError {
  const waitMs = parseRetryAfter(retryAfter);
  const retryAfterSeconds = waitMs === null ? null : Math.min(waitMs / 1000, MAX_RETRY_SECONDS);
  const parsed = parseJson(body);
  if (parsed !== undefined) return toUpstreamError(status, parsed, retryAfterSeconds);
  const text = /^\s*</.test(body) ? '' : body;
  return { status, error: {}, upstreamMessage: singleLine(text), retryAfterSeconds };
}

/** Converts a parsed body; see `parseUpstreamError`. */
export function toUpstreamError(status: number, body: unknown, retryAfterSeconds: number | null): UpstreamError {
  const outer = isRecord(body) ? body : {};
  const error = isRecord(outer['error']) ? outer['error'] : outer;
  const reported = error['message'] ?? outer['error'] ?? outer['message'] ?? fastApiDetail(outer['detail']);
  const upstreamMessage = typeof reported === 'string' ? singleLine(reported) : '';
  return { status, error, upstreamMessage, retryAfterSeconds };
}

/** Returns the status of an error frame within a stream. */
export function errorFrameStatus(error: unknown): number {
  const code = isRecord(error) ? (error['http_status_code'] ?? error['code'] ?? error['status']) : null;
  const status = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  if (typeof status === 'number' && status >= 400 && status <= 599) return status;
  if (!isRecord(error)) return 500;
  return error['code'] === 'context_length_exceeded' ? 400 : (STATUS_BY_TYPE.get(error['type']) ?? 500);
}

/** Returns the context overflow that an error reports; null for other errors. */
export function findContextOverflow({ status, error, upstreamMessage }: UpstreamError): ContextOverflow | null {
  const mayBe = CLIENT_ERROR_STATUSES.has(status) || error['type'] === 'exceed_context_size_error';
  return mayBe ? parseContextOverflow(error, upstreamMessage) : null;
}

/** Whether an error says that the server does not accept a field of the request, or its value. */
export function rejectsField({ status, error, upstreamMessage }: UpstreamError, field: string): boolean {
  if (!CLIENT_ERROR_STATUSES.has(status)) return false;
  return readParam(error) === field || new RegExp(`\\b${field}\\b`).test(upstreamMessage);
}

/** Whether an error may be one of the chat template. llama-server reports them with status 500. */
export function isTemplateError({ status }: UpstreamError): boolean {
  return status === 500 || CLIENT_ERROR_STATUSES.has(status);
}

/** Converts an upstream error to an error of the catalogue. */
export function upstreamErrorToApiError(upstreamError: UpstreamError, context: UpstreamErrorContext): ApiError {
  const overflow = findContextOverflow(upstreamError);
  if (overflow) return overflowError(overflow, context);
  const { status } = upstreamError;
  const upstreamMessage = redactKey(upstreamError.upstreamMessage, context.apiKey);
  const cause = new Error(
    `${context.address} answered with status ${status}: ${upstreamMessage || 'no upstreamMessage'}`,
  );
  if (CLIENT_ERROR_STATUSES.has(status)) return clientErrorToApiError(upstreamError.error, upstreamMessage, cause);
  const wait = upstreamError.retryAfterSeconds ?? RETRY_SECONDS;
  if (status === 401 || status === 403) {
    const why = "The model's server rejects the API key of this service. The operator has to check it.";
    return engineUnavailable(why, OPERATOR_SECONDS, cause);
  }
  if (status === 404) {
    const why = "The model's server does not know the model. The operator has to check its name and address.";
    return engineUnavailable(why, OPERATOR_SECONDS, cause);
  }
  if (OVERLOAD_STATUSES.has(status)) return engineUnavailable("The model's server is overloaded.", wait, cause);
  if (status === 503) return engineUnavailable("The model's server is not ready.", wait, cause);
  return engineUnavailable("The model's server returned an error.", wait, cause);
}

/** Converts a failed exchange to an error of the catalogue. `started`: the response had started. */
export function exchangeErrorToApiError(exchangeError: unknown, address: string, started: boolean): ApiError {
  if (exchangeError instanceof ApiError) return exchangeError;
  const why = exchangeError instanceof Error ? exchangeError.message : String(exchangeError);
  const cause = new Error(`${address}: ${why}`, { cause: exchangeError });
  if (!(exchangeError instanceof HttpExchangeError)) return invalidResponse(cause);
  if (exchangeError.kind === 'first-byte-timeout') {
    return engineUnavailable("The model's server did not respond in time.", RETRY_SECONDS, cause);
  }
  if (exchangeError.kind === 'idle-timeout') {
    return engineUnavailable("The model's server stopped in the middle of a response.", RETRY_SECONDS, cause);
  }
  const upstreamMessage = started
    ? "The connection to the model's server was lost in the middle of a response."
    : "The model's server cannot be reached.";
  return engineUnavailable(upstreamMessage, RETRY_SECONDS, cause);
}

/** 503 for a response that is invalid or incomplete. */
export function invalidResponse(cause: Error): ApiError {
  return engineUnavailable("The model's server returned an invalid response.", RETRY_SECONDS, cause);
}

function overflowError(
  { promptTokens, contextTokens }: ContextOverflow,
  { param, contextLength }: UpstreamErrorContext,
): ApiError {
  const context = contextTokens ?? contextLength;
  if (context !== null) return contextLengthExceeded(param, promptTokens, context);
  const message = "The prompt is longer than the model's context allows.";
  return new ApiError({ status: 400, type: 'invalid_request_error', code: 'context_length_exceeded', message, param });
}

function clientErrorToApiError(error: Record<string, unknown>, upstreamMessage: string, cause: Error): ApiError {
  const clean = redactAddresses(upstreamMessage).replace(/[.\s]+$/, '');
  const why = clean === '' ? "is not accepted by the model's server" : `is refused by the model's server: ${clean}`;
  const param = readParam(error);
  if (param !== null) return invalidValue(param, why);
  // The function of the catalogue needs a field, and the upstream named none.
  const message = `The request ${why}.`;
  return new ApiError({ status: 400, type: 'invalid_request_error', code: 'invalid_value', message, cause });
}

/** Returns the field that the upstream names: OpenAI's `param`, or FastAPI's `loc` without the leading `body`. */
function readParam(error: Record<string, unknown>): string | null {
  const detail = Array.isArray(error['detail']) ? error['detail'][0] : null;
  const loc = isRecord(detail) && Array.isArray(detail['loc']) ? detail['loc'].filter((part) => part !== 'body') : [];
  const param = error['param'] ?? (loc.length > 0 ? loc.join('.') : null);
  return typeof param === 'string' && /^[A-Za-z_][\w.[\]]{0,99}$/.test(param) ? param : null;
}

function fastApiDetail(detail: unknown): unknown {
  return Array.isArray(detail) && isRecord(detail[0]) ? detail[0]['msg'] : detail;
}

function singleLine(text: string): string {
  const line = text
    .slice(0, 10 * MAX_MESSAGE_CHARACTERS)
    .replace(/\s+/g, ' ')
    // Images and other contents of callers must not reach the log.
    .replace(/\bdata:[^\s'"`<>)\]}]+/gi, '[data URL]')
    .trim();
  return line.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
}

function redactKey(upstreamMessage: string, apiKey: string | null): string {
  return apiKey === null || apiKey === '' ? upstreamMessage : upstreamMessage.replaceAll(apiKey, '[key]');
}

/** Callers must not learn the address of the upstream. */
function redactAddresses(upstreamMessage: string): string {
  return upstreamMessage
    .replace(/\bhttps?:\/\/[^\s'"<>)\]]+/gi, '[address]')
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]');
}
