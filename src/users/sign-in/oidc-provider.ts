import type { Configuration, DiscoveryRequestOptions } from 'openid-client';
import { fetch as fetchByProxy } from 'undici';
import type { Config } from '../../config/config.ts';
import { engineUnavailable } from '../../errors.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import { createProxyAgent } from '../../lib/proxy.ts';
import { OidcError } from './oidc-error.ts';

/** Time limit of one request to the issuer, in seconds. */
const TIMEOUT_SECONDS = 10;
/** Code exchanges in progress; each makes up to three requests to the issuer. */
const EXCHANGES = { total: 16, perGroup: 4 } as const;
/** Time limit of waiting for an exchange. */
const QUEUE_MS = 20_000;
const SCOPE = 'openid email profile';

/** Claims about a person, from the ID token and, when it has no email, from the userinfo endpoint. */
export type OidcClaims = Readonly<Record<string, unknown>> & { iss: string; sub: string };

/** Values that tie a callback to the browser that has started the sign-in. */
export interface OidcChecks {
  state: string;
  nonce: string;
  /** PKCE code verifier. */
  verifier: string;
}

/** The configured OpenID Connect issuer. */
export interface OidcProvider {
  /** Returns the address at which the issuer asks the person to sign in. Throws 503 if the issuer is unreachable. */
  authorize(redirectUri: string): Promise<{ url: string; checks: OidcChecks }>;
  /**
   * Exchanges the code of a callback for verified claims: signature, issuer, audience, expiry, nonce and state. Throws
   * an `OidcError`. `address`: of the client, for a fair share of the exchanges.
   */
  exchange(callback: URL, checks: OidcChecks, address: string): Promise<OidcClaims>;
}

/** Settings of the issuer. */
export type OidcProviderSettings = Pick<Config, 'oidcClientId' | 'oidcClientSecret' | 'proxy'>;

/** Creates the client of an issuer. Its metadata are read at the first sign-in and kept. */
export function createOidcProvider(issuer: string, settings: OidcProviderSettings): OidcProvider {
  let discovery: Promise<Configuration> | null = null;
  const exchanges = new FairSemaphore(EXCHANGES);
  const configure = async () => {
    discovery ??= discover(issuer, settings);
    try {
      return await discovery;
    } catch (error) {
      discovery = null;
      throw error;
    }
  };
  return {
    async authorize(redirectUri) {
      const client = await import('openid-client');
      const configuration = await configure().catch((error) => {
        throw engineUnavailable('The sign-in provider cannot be reached. Try again, or use your password.', 5, error);
      });
      const checks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, checks };
    },
    exchange: (callback, checks, address) =>
      exchanges.within(address, AbortSignal.timeout(QUEUE_MS), async () => {
        const configuration = await configure().catch((error) => {
          throw new OidcError('issuer_unavailable', error);
        });
        return exchangeCode(configuration, callback, checks);
      }),
  };
}

async function discover(issuer: string, { oidcClientId, oidcClientSecret, proxy }: OidcProviderSettings) {
  const client = await import('openid-client');
  const url = new URL(issuer);
  const options: DiscoveryRequestOptions = {
    timeout: TIMEOUT_SECONDS,
    // The signature of the ID token is checked as well, although it comes from the issuer's own connection.
    execute: [client.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : [])],
  };
  if (proxy !== null) {
    const dispatcher = createProxyAgent(proxy, url.protocol);
    const fetchThroughProxy = (address: string, init: object) => fetchByProxy(address, { ...init, dispatcher });
    options[client.customFetch] = fetchThroughProxy as unknown as NonNullable<
      (typeof options)[typeof client.customFetch]
    >;
  }
  return client.discovery(url, oidcClientId, oidcClientSecret ?? undefined, undefined, options);
}

async function exchangeCode(configuration: Configuration, callback: URL, checks: OidcChecks): Promise<OidcClaims> {
  const client = await import('openid-client');
  try {
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: checks.state,
      expectedNonce: checks.nonce,
      pkceCodeVerifier: checks.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined || !isSubject(claims.sub)) throw new OidcError('invalid_response');
    const { email, email_verified: _, ...others } = claims;
    const isComplete = typeof email === 'string' || configuration.serverMetadata().userinfo_endpoint === undefined;
    if (isComplete) return claims;
    // Rejects a response about another subject.
    const profile = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    // An email and the statement that it is verified come from one source.
    return { ...profile, ...others };
  } catch (error) {
    if (error instanceof OidcError) throw error;
    if (error instanceof client.AuthorizationResponseError) throw new OidcError('denied', error);
    const isRejected = error instanceof client.ClientError || error instanceof client.ResponseBodyError;
    throw new OidcError(isRejected && !isTimeout(error) ? 'invalid_response' : 'issuer_unavailable', error);
  }
}

/** Whether a claim `sub` can name one person. OpenID Connect Core 1.0, section 2, permits 255 characters. */
const isSubject = (subject: string): boolean => /^\P{Cc}{1,255}$/u.test(subject) && subject.trim() !== '';

/** Codes of `ClientError` for an issuer that does not answer. */
const isTimeout = (error: { code?: string }): boolean => error.code === 'OAUTH_TIMEOUT';
