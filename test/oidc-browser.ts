/** A browser that signs in to a test API through the issuer of `oidc-issuer.ts`. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Config } from '../src/config/config.ts';
import { OidcSignIn } from '../src/users/schema.ts';
import { readSetCookie, SAME_ORIGIN } from './console-users.ts';
import { type Answer, assertSchema, startApi, type TestApi } from './harness.ts';
import { OIDC_CLIENT, type OidcIssuer, startOidcIssuer } from './oidc-issuer.ts';

/** A sign-in at the issuer, which redirects to `callback`. */
export interface StartedSignIn {
  callback: string;
  /** Name and value of the transaction cookie. */
  cookie: string;
  answer: Answer;
}

/** What the redirect from the issuer leads to. */
export interface FinishedSignIn {
  location: string;
  /** Name and value of the cookie of the new session; empty when none was opened. */
  session: string;
  /** The error code in the address; null without one. */
  error: string | null;
  headers: Headers;
}

/** A browser of one test API. */
export interface OidcBrowser {
  /** Starts a sign-in, which the API must accept, and signs in at the issuer. */
  start(body?: object, headers?: Record<string, string>): Promise<StartedSignIn>;
  /** Follows the redirect from the issuer. */
  finish(started: Pick<StartedSignIn, 'callback' | 'cookie'>): Promise<FinishedSignIn>;
  /** `start`, then `finish`. */
  signIn(body?: object, headers?: Record<string, string>): Promise<FinishedSignIn>;
}

/** Creates a browser without cookies. */
export function oidcBrowser(api: TestApi): OidcBrowser {
  const start: OidcBrowser['start'] = async (body = {}, headers = {}) => {
    const sent = { key: null, body, headers: { ...SAME_ORIGIN, ...headers } };
    const answer = await api.send('POST', '/v1/session/oidc', sent);
    assert.equal(answer.status, 200, answer.text);
    assertSchema(OidcSignIn, answer.json);
    const atIssuer = await fetch(answer.json.url, { redirect: 'manual' });
    const callback = atIssuer.headers.get('location') ?? '';
    return { callback, cookie: readSetCookie(answer, 'quire_oidc'), answer };
  };
  const finish: OidcBrowser['finish'] = async ({ callback, cookie }) => {
    const headers = { cookie, 'sec-fetch-site': 'cross-site' };
    const response = await fetch(callback, { redirect: 'manual', headers });
    assert.equal(response.status, 303);
    const location = response.headers.get('location') ?? '';
    const session = readSetCookie(response, 'quire_session');
    return {
      location,
      session,
      error: new URL(location, api.url).searchParams.get('error'),
      headers: response.headers,
    };
  };
  return { start, finish, signIn: async (body, headers) => finish(await start(body, headers)) };
}

/** An API with an issuer, and a browser. */
export interface OidcTest {
  api: TestApi;
  issuer: OidcIssuer;
  browser: OidcBrowser;
}

/** Starts an issuer, and an API that uses it, before the tests of a file, and stops both afterwards. */
export function useOidcApi(settings: Partial<Config> = {}): OidcTest {
  const test = {} as OidcTest;
  let close = async () => {};
  before(async () => {
    const issuer = await startOidcIssuer();
    const client = { oidcClientId: OIDC_CLIENT.id, oidcClientSecret: OIDC_CLIENT.secret };
    const { api, close: closeApi } = await startApi({ config: { oidcIssuer: issuer.url, ...client, ...settings } });
    Object.assign(test, { api, issuer, browser: oidcBrowser(api) });
    close = async () => {
      await closeApi();
      await issuer.close();
    };
  });
  after(() => close());
  return test;
}
