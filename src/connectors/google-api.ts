import { createSign } from 'node:crypto';
import type { Static } from 'typebox';
import { IngestionError, type JobErrorCode } from '../extraction/ingestion-error.ts';
import type { ServiceAccount } from './config-fields.ts';
import type { GuardedHttp } from './http/guarded-http.ts';
import { RestClient, type RestClientOptions, ServiceError } from './http/rest-client.ts';

const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Lifetime of an assertion, the maximum that Google allows. */
const ASSERTION_SECONDS = 3600;
/** A token is replaced this long before it expires. */
const RENEWAL_SECONDS = 300;

/**
 * Codes of the reasons of 403 that do not mean missing rights:
 * https://developers.google.com/workspace/drive/api/guides/handle-errors
 */
const REASONS_OF_403: Readonly<Record<string, JobErrorCode>> = {
  rateLimitExceeded: 'rate_limited',
  userRateLimitExceeded: 'rate_limited',
  exportSizeLimitExceeded: 'too_large',
};

/** Error body of Google's JSON APIs: https://cloud.google.com/storage/docs/json_api/v1/status-codes */
interface GoogleError {
  error?: { message?: string; errors?: { reason?: string }[] };
}

interface Token {
  value: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Tokens of one HTTP client (one job), by account, server and scope. Concurrent callers share a request. */
const TOKENS = new WeakMap<GuardedHttp, Map<string, Promise<Token>>>();

/** A Google API and the account that calls it. */
type GoogleClientOptions = Pick<RestClientOptions, 'service' | 'retries'> & {
  credentials: Static<typeof ServiceAccount>;
  scope: string;
};

/**
 * Creates a client of a Google API for a service account. Its token is requested as in
 * https://developers.google.com/identity/protocols/oauth2/service-account, without `google-auth-library`, whose
 * requests would not go through the guarded client.
 */
export function createGoogleClient(
  http: GuardedHttp,
  { service, credentials, scope, retries }: GoogleClientOptions,
): RestClient {
  const account = credentials.service_account_json as Record<string, string>;
  const tokens = TOKENS.get(http) ?? new Map<string, Promise<Token>>();
  TOKENS.set(http, tokens);
  const id = JSON.stringify([account['client_email'], account['private_key'], account['token_uri'], scope]);
  const currentToken = async (): Promise<Token> => {
    const requested = tokens.get(id);
    const token = await requested;
    if (token !== undefined && token.expiresAt > Date.now()) return token;
    // Another request may have renewed it during the wait.
    if (tokens.get(id) !== requested) return currentToken();
    const renewal = requestToken(http, { account, scope, retries });
    tokens.set(id, renewal);
    renewal.catch(() => tokens.delete(id));
    return renewal;
  };
  return new RestClient({
    http,
    service,
    headers: async () => ({ authorization: `Bearer ${(await currentToken()).value}` }),
    errorMessage: (body) => (body as GoogleError | null)?.error?.message,
    errorCode: (status, body) => {
      if (status !== 403) return undefined;
      const reasons = (body as GoogleError | null)?.error?.errors ?? [];
      return reasons.map(({ reason = '' }) => REASONS_OF_403[reason]).find((code) => code !== undefined);
    },
    retries,
  });
}

async function requestToken(
  http: GuardedHttp,
  { account, scope, retries }: { account: Record<string, string>; scope: string; retries: number | undefined },
): Promise<Token> {
  const client = new RestClient({
    http,
    service: 'The token server of Google',
    headers: async () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
    errorMessage: (body) => {
      const { error_description, error } = Object(body) as { error_description?: string; error?: string };
      return error_description ?? error;
    },
    retries,
  });
  const url = account['token_uri'] ?? TOKEN_URL;
  const body = new URLSearchParams({
    grant_type: GRANT_TYPE,
    assertion: signAssertion(account, url, scope),
  }).toString();
  try {
    const answer = await client.json<{ access_token?: string; expires_in?: number }>(url, AbortSignal.timeout(60_000), {
      method: 'POST',
      body,
    });
    if (typeof answer.access_token !== 'string')
      throw new IngestionError('authentication_failed', 'Google sent no token.');
    const seconds = Math.max(0, (answer.expires_in ?? ASSERTION_SECONDS) - RENEWAL_SECONDS);
    return { value: answer.access_token, expiresAt: Date.now() + seconds * 1000 };
  } catch (error) {
    // The token server answers 400 `invalid_grant` for a deleted key or account.
    const isRejected = error instanceof ServiceError && [400, 401, 403].includes(error.status);
    if (error instanceof IngestionError) error.configField = 'credentials.service_account_json.token_uri';
    throw isRejected ? new IngestionError('authentication_failed', error.message, error) : error;
  }
}

function signAssertion(account: Record<string, string>, audience: string, scope: string): string {
  const now = Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = encode({
    alg: 'RS256',
    typ: 'JWT',
    ...(account['private_key_id'] && { kid: account['private_key_id'] }),
  });
  const claims = { iss: account['client_email'], scope, aud: audience, iat: now, exp: now + ASSERTION_SECONDS };
  const unsigned = `${header}.${encode(claims)}`;
  try {
    return `${unsigned}.${createSign('RSA-SHA256')
      .update(unsigned)
      .sign(account['private_key'] ?? '', 'base64url')}`;
  } catch (error) {
    throw new IngestionError(
      'authentication_failed',
      'The private key of the service account is not a valid RSA key.',
      error,
    );
  }
}
