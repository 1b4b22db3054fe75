import { ApiError, contextLengthExceeded, engineUnavailable, invalidValue } from '../../errors.ts';
import { type ContextOverflow, parseContextOverflow } from './context-overflow.ts';
import { HttpExchangeError } from './http-exchange.ts';
import { isRecord } from './upstream-chunk.ts';

/** Seconds after which a caller may try again when the upstream does not say: a restart or a queue takes longer. */
const RETRY_SECONDS = 5;

/** Seconds where only the operator can mend it. */
const OPERATOR_SECONDS = 60;

/** Longest wait that is passed on, in seconds: an upstream's clock may be wrong. */
const MAX_RETRY_SECONDS = 3600;

/** Characters of an upstream's sentence that are passed on: enough for every real one. */
const MAX_MESSAGE_CHARACTERS = 500;

/** Statuses with which an upstream says that the request itself is at fault. */
const CLIENT_ERROR_STATUSES = new Set([400, 413, 422, 501]);

/** An answer of an upstream that is an error. */
export interface UpstreamError {
  status: number;
  /** The error's fields; empty where the body is not JSON. */
  error: Record<string, unknown>;
  /** What the upstream said, on one line; empty where it said nothing for people. */
  upstreamMessage: string;
  retryAfterSeconds: number | null;
}

/** Where a refusal came from, to say so to the operator and to nobody else. */
export interface UpstreamErrorContext {
  /** The field that is too long where the refusal is about the context: `messages`, `prompt` or `input`. */
  param: string;
  /** Tokens of the model's context, where they are known. */
  contextLength: number | null;
  /** The upstream's address without user, key or query. */
  address: string;
  apiKey: string | null;
}

/**
 * Reads an error in any of the forms that servers give: `{error: {message, code}}` (OpenAI, vLLM, llama-server),
 * `{error: "text", error_type}` (TGI, Ollama), `{message, object: "error"}` (older vLLM), `{detail: ...}` (FastAPI),
 * plain text; of an HTML page nothing is kept.
 */
export function parseUpstreamError(status: number, body: string, retryAfter: string | null): UpstreamError {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    const text = /^\s*</.test(body) ? '' : body;
    return { status, error: {}, upstreamMessage: singleLine(text), retryAfterSeconds: parseRetryAfter(retryAfter) };
  }
  return toUpstreamError(status, parsed, parseRetryAfter(retryAfter));
}

/** The refusal that a parsed body is; see `parseUpstreamError`. */
export function toUpstreamError(status: number, body: unknown, retryAfterSeconds: number | null): UpstreamError {
  const outer = isRecord(body) ? body : {};
  const error = isRecord(outer['error']) ? outer['error'] : outer;
  const reported = error['message'] ?? outer['error'] ?? outer['message'] ?? fastApiDetail(outer['detail']);
  const upstreamMessage = typeof reported === 'string' ? singleLine(reported) : '';
  return { status, error, upstreamMessage, retryAfterSeconds };
}

/** The status that an error frame within a stream stands for. */
export function errorFrameStatus(error: unknown): number {
  const code = isRecord(error) ? (error['http_status_code'] ?? error['code'] ?? error['status']) : null;
  const status = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  if (typeof status === 'number' && status >= 400 && status <= 599) return status;
  return isRecord(error) && (error['type'] === 'invalid_request_error' || error['code'] === 'context_length_exceeded')
    ? 400
    : 500;
}

/** What a refusal says about the context, where it is about that. */
export function findContextOverflow({ status, error, upstreamMessage }: UpstreamError): ContextOverflow | null {
  const mayBe = CLIENT_ERROR_STATUSES.has(status) || error['type'] === 'exceed_context_size_error';
  return mayBe ? parseContextOverflow(error, upstreamMessage) : null;
}

/** The error of our catalogue that a refusal is to the caller. */
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
    const why = "The model's server refuses this service. The operator has to check the API key for it.";
    return engineUnavailable(why, OPERATOR_SECONDS, cause);
  }
  if (status === 404) {
    const why = "The model's server does not know the model. The operator has to check its name and address.";
    return engineUnavailable(why, OPERATOR_SECONDS, cause);
  }
  if (status === 429) return engineUnavailable("The model's server has too much to do.", wait, cause);
  if (status === 503) return engineUnavailable("The model's server is not ready.", wait, cause);
  return engineUnavailable("The model's server failed to answer.", wait, cause);
}

/** The error of our catalogue for an exchange that broke; `begun`: the answer had begun. */
export function exchangeErrorToApiError(exchangeError: unknown, address: string, started: boolean): ApiError {
  if (exchangeError instanceof ApiError) return exchangeError;
  const why = exchangeError instanceof Error ? exchangeError.message : String(exchangeError);
  const cause = new Error(`${address}: ${why}`, { cause: exchangeError });
  if (!(exchangeError instanceof HttpExchangeError)) return invalidResponse(cause);
  if (exchangeError.kind === 'first-byte-timeout') {
    return engineUnavailable("The model's server did not begin to answer in time.", RETRY_SECONDS, cause);
  }
  if (exchangeError.kind === 'idle-timeout') {
    return engineUnavailable("The model's server stopped in the middle of its answer.", RETRY_SECONDS, cause);
  }
  const upstreamMessage = started
    ? "The connection to the model's server broke in the middle of its answer."
    : "The model's server cannot be reached.";
  return engineUnavailable(upstreamMessage, RETRY_SECONDS, cause);
}

/** 503: the upstream gave something that is no answer, or only a part of one. */
export function invalidResponse(cause: Error): ApiError {
  return engineUnavailable("The model's server gave no usable answer.", RETRY_SECONDS, cause);
}

/** Seconds of a `Retry-After` header, which is a number or a date; null where it is neither. */
export function parseRetryAfter(retryAfter: string | null): number | null {
  if (retryAfter === null || retryAfter.trim() === '') return null;
  const seconds = Number(retryAfter);
  const wait = Number.isNaN(seconds) ? (Date.parse(retryAfter) - Date.now()) / 1000 : seconds;
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), MAX_RETRY_SECONDS);
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
  const param = paramOf(error);
  if (param !== null) return invalidValue(param, why);
  // The catalogue's function names a field; the upstream named none.
  const message = `The request ${why}.`;
  return new ApiError({ status: 400, type: 'invalid_request_error', code: 'invalid_value', message, cause });
}

/** The field that the upstream names: OpenAI's `param`, or FastAPI's `loc` without its leading `body`. */
function paramOf(error: Record<string, unknown>): string | null {
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
    .trim();
  return line.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
}

function redactKey(upstreamMessage: string, apiKey: string | null): string {
  return apiKey === null || apiKey === '' ? upstreamMessage : upstreamMessage.replaceAll(apiKey, '[key]');
}

/** A sentence for the caller: where the upstream is, is the operator's business. */
function redactAddresses(upstreamMessage: string): string {
  return upstreamMessage
    .replace(/\bhttps?:\/\/[^\s'"<>)\]]+/gi, '[address]')
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]');
}
