import { parseJson } from '../lib/json.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';

/** An error response of the service. */
export class HttpStatusError extends OperatorError {
  readonly status: number;
  /** `error.code` of the response. */
  readonly code: string | null;
  /** `error.message` of the response, without the status and the next step. */
  readonly detail: string;

  constructor(
    status: number,
    detail: string,
    { code = null, nextStep = '' }: { code?: string | null; nextStep?: string } = {},
  ) {
    super(nextStep === '' ? `${status}: ${detail}` : `${detail} ${nextStep}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
  }
}

/** Error codes of a TLS client that receives plain HTTP. */
const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO']);
/** Error codes of an untrusted certificate. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)/;
/** Statuses with which proxies report that the service behind them is down. */
const PROXY_STATUSES = new Set([502, 503, 504]);

/** The error of a request that got no response, with the next step. `origin` is the base URL of the service. */
export function connectionError(origin: string, error: unknown): OperatorError {
  const cause = (error as Error).cause ?? error;
  const code = findCode(cause);
  const withScheme = (scheme: string) => `${scheme}://${origin.split('://')[1]}`;
  if (code === 'ECONNREFUSED') {
    const isLocal = /\/\/(localhost|127\.|\[::1\])/.test(origin);
    const start = isLocal ? "Start one with 'quire serve', or set" : 'Set';
    return new OperatorError(`No service runs at ${origin}. ${start} QUIRE_URL to the address of a running one.`);
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new OperatorError(`The host of ${origin} cannot be found. Check QUIRE_URL and the network.`);
  if (NOT_TLS.has(code))
    return new OperatorError(`The server at ${origin} speaks http, not https. Set QUIRE_URL to ${withScheme('http')}.`);
  if (code.startsWith('HPE_') || (cause as Error).name === 'HTTPParserError')
    return new OperatorError(
      `The server at ${origin} does not speak http. If it speaks https, set QUIRE_URL to ${withScheme('https')}.`,
    );
  if (UNTRUSTED.test(code)) {
    return new OperatorError(
      `The certificate of ${origin} is not trusted (${code}). Set NODE_EXTRA_CA_CERTS to the file of its authority.`,
    );
  }
  return new OperatorError(`${origin} does not respond: ${describeError(cause)}`, { cause: error });
}

function findCode(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] };
  if (typeof code === 'string') return code;
  return errors?.[0] === undefined ? '' : findCode(errors[0]);
}

/** A response as the error functions read it. */
export interface ErrorResponse {
  status: number;
  contentType: string;
  text: string;
}

/** The error of a response without 2xx, with the next step. `apiKey` is the key that was sent. */
export function responseError(origin: string, apiKey: string, response: ErrorResponse): OperatorError {
  const error = parseError(response.text);
  if (error === null) return notQuireError(origin, response);
  const { status } = response;
  const { message, code = null } = error;
  if (status === 401) {
    const sentence = `The service at ${origin} does not accept the API key ending in ...${apiKey.slice(-4)}.`;
    const nextStep = "Set QUIRE_API_KEY to a valid key; 'quire keys create' makes one.";
    return new HttpStatusError(status, sentence, { code, nextStep });
  }
  if (code === 'insufficient_scope') {
    return new HttpStatusError(status, message, {
      code,
      nextStep: "'quire keys create --scopes' makes a key with it.",
    });
  }
  return new HttpStatusError(status, message, { code });
}

function parseError(text: string): { message: string; code?: string | null } | null {
  const { error } = (parseJson(text) ?? {}) as { error?: { message?: unknown; code?: string | null } };
  return typeof error?.message === 'string' ? (error as { message: string }) : null;
}

/** The error of a response that no service of Quire sends. */
export function notQuireError(origin: string, { status, contentType, text }: ErrorResponse): OperatorError {
  if (/plain HTTP request was sent to HTTPS port|Client sent an HTTP request to an HTTPS server/.test(text)) {
    const secure = origin.replace(/^http:/, 'https:');
    return new OperatorError(`The server at ${origin} speaks https. Set QUIRE_URL to ${secure}.`);
  }
  if (PROXY_STATUSES.has(status))
    return new OperatorError(
      `The proxy at ${origin} cannot reach the service behind it (${status}). Check that the service runs.`,
    );
  const kind = contentType.startsWith('text/html') ? 'an HTML page' : 'something else';
  return new OperatorError(
    `The server at ${origin} is not Quire: it returned ${kind} (${status}). Set QUIRE_URL to the address of the service.`,
  );
}
