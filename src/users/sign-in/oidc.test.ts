import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import {
  acceptInvitation,
  asUser,
  type ConsoleUser,
  inviteUser,
  makeOrganization,
  PASSWORD,
  readSetCookie,
  SAME_ORIGIN,
} from '../../../test/console-users.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { oidcBrowser } from '../../../test/oidc-browser.ts';
import { type Defect, OIDC_CLIENT, startOidcIssuer } from '../../../test/oidc-issuer.ts';
import type { Config } from '../../config/config.ts';
import { DEFAULT_ORGANIZATION } from '../../lib/caller.ts';
import { parseGroupRoles } from '../../lib/parse-group-roles.ts';
import { Session, SignInOptions } from '../schema.ts';
import { readTransaction } from './oidc-cookie.ts';
import { hasAllowedDomain, readIdentity, roleOfIdentity } from './oidc-identity.ts';
import { createOidcProvider } from './oidc-provider.ts';

const SETTINGS = {
  oidcClientId: OIDC_CLIENT.id,
  oidcClientSecret: OIDC_CLIENT.secret,
  oidcName: 'Acme ID',
  oidcOrganization: DEFAULT_ORGANIZATION,
  oidcDefaultRole: 'developer',
  oidcAllowedDomains: null,
  oidcRoles: null,
  oidcLinking: 'settings',
} satisfies Partial<Config>;

const issuer = await startOidcIssuer();
after(() => issuer.close());
const api = useApi({ config: { ...SETTINGS, oidcIssuer: issuer.url } });
const configure = (changes: Partial<Config>) => Object.assign(api.deps.config, changes);

let people = 0;
/** The next person at the issuer. */
function arrive(claims: object = {}): Record<string, unknown> {
  people += 1;
  const email = `Person${people}@example.com`;
  issuer.person = { sub: `subject-${people}`, email, email_verified: true, name: `Person ${people}`, ...claims };
  return issuer.person;
}

beforeEach(() => {
  issuer.defect = null;
  issuer.profile = {};
  configure(SETTINGS);
  arrive();
});

const browser = oidcBrowser(api);
const { signIn } = browser;
const setCookie = (headers: Headers, name: string): string =>
  headers.getSetCookie().find((cookie) => cookie.startsWith(`${name}=`)) ?? '';

async function sessionOf(cookie: string) {
  const { json } = await api.send('GET', '/v1/session', { key: null, headers: { cookie } });
  return json;
}

/** An account with a password, signed in. */
async function withPassword(email: string): Promise<ConsoleUser> {
  return asUser(api, await acceptInvitation(api, await inviteUser(api, 'owner'), { email }));
}

describe('sign-in through an OpenID Connect issuer', () => {
  it('creates a user at the first time and finds it again by the subject, whatever the email is then', async () => {
    const person = arrive({ name: 'Ada Lovelace' });
    const first = await signIn({ return_to: '/audit?actor=user_1' });
    assert.equal(first.location, '/audit?actor=user_1');
    const session = await sessionOf(first.session);
    assertSchema(Session, session);
    const { user, organization } = session;
    assert.deepEqual(
      [user.email, user.name, organization.role],
      [String(person['email']).toLowerCase(), 'Ada Lovelace', 'developer'],
    );
    assert.deepEqual([user.has_password, user.is_linked], [false, true]);
    issuer.person = { ...person, email: 'new-name@example.com', email_verified: false };
    const again = await signIn();
    assert.equal(again.location, '/');
    assert.equal((await sessionOf(again.session)).user.id, user.id);
    const body = { email: user.email, password: PASSWORD };
    assertError(await api.send('POST', '/v1/session', { key: null, body }), 401, 'invalid_credentials');
  });

  it('keeps the session cookie strict: a short-lived lax cookie carries the sign-in over the redirect', async () => {
    const { callback, cookie, answer } = await browser.start();
    const transaction = setCookie(answer.headers, 'quire_oidc');
    for (const part of ['HttpOnly', 'SameSite=Lax', 'Path=/v1/session/oidc;', 'Max-Age=600']) {
      assert.ok(transaction.includes(part), transaction);
    }
    assert.ok(!callback.includes(cookie.slice(-20)));
    const { headers } = await browser.finish({ callback, cookie });
    assert.match(setCookie(headers, 'quire_session'), /SameSite=Strict/);
    assert.match(setCookie(headers, 'quire_oidc'), /quire_oidc=; .*Max-Age=0/);
  });

  it('a session that existed before the sign-in is not the one after it (session fixation)', async () => {
    const planted = 'quire_session=chosen-by-an-attacker';
    const { callback, cookie } = await browser.start();
    const { session } = await browser.finish({ callback, cookie: `${cookie}; ${planted}` });
    assert.notEqual(session, planted);
    assertError(
      await api.send('GET', '/v1/session', { key: null, headers: { cookie: planted } }),
      401,
      'invalid_session',
    );
    assert.equal((await sessionOf(session)).object, 'session');
  });

  it('a sign-in by password ends the session before it', async () => {
    const email = 'edsger@example.com';
    const { cookie } = await withPassword(email);
    const headers = { cookie, ...SAME_ORIGIN };
    const renewed = await api.send('POST', '/v1/session', { key: null, body: { email, password: PASSWORD }, headers });
    assert.notEqual(readSetCookie(renewed, 'quire_session'), cookie);
    assertError(await api.send('GET', '/v1/session', { key: null, headers }), 401, 'invalid_session');
  });

  for (const defect of ['nonce', 'audience', 'issuer', 'expired', 'alg none', 'signature'] as Defect[]) {
    it(`rejects a token with a wrong ${defect}`, async () => {
      issuer.defect = defect;
      const { error, session, location } = await signIn();
      assert.deepEqual([error, session], ['invalid_response', '']);
      assert.match(location, /^\/sign-in\?error=invalid_response&request=req_/);
    });
  }

  it('says that the issuer denied the sign-in, or does not answer', async () => {
    issuer.defect = 'denied';
    assert.equal((await signIn()).error, 'denied');
    issuer.defect = null;
    const started = await browser.start();
    issuer.defect = 'down';
    assert.equal((await browser.finish(started)).error, 'issuer_unavailable');
  });

  it('responds with 503 while an issuer that was never reached does not answer, and works when it does', async () => {
    const { oidcClientId, oidcClientSecret } = SETTINGS;
    const provider = createOidcProvider(issuer.url, { oidcClientId, oidcClientSecret, proxy: null });
    const redirectUri = 'http://127.0.0.1/callback';
    issuer.defect = 'down';
    await assert.rejects(provider.authorize(redirectUri), { status: 503, code: 'engine_unavailable' });
    issuer.defect = null;
    assert.match((await provider.authorize(redirectUri)).url, /code_challenge_method=S256/);
  });

  it('asks the userinfo endpoint for an email that the ID token does not have', async () => {
    issuer.person = { sub: 'without-email', name: 'Of the token' };
    issuer.profile = { email: 'profile@example.com', email_verified: true, name: 'Of the profile' };
    const { user } = await sessionOf((await signIn()).session);
    assert.deepEqual([user.email, user.name], ['profile@example.com', 'Of the token']);
  });

  it('takes an email and the statement that it is verified from one source', async () => {
    const tokens: [person: object, profile: Record<string, unknown>][] = [
      [{ email_verified: true }, { email: 'a@example.com' }],
      [{ email_verified: true }, { email: 'b@example.com', email_verified: false }],
      [
        { email: null, email_verified: true },
        { email: 'c@example.com', email_verified: 'false' },
      ],
      [{ email: 'd@example.com' }, { email_verified: true }],
      [
        { email: 'e@example.com', email_verified: false },
        { email: 'f@example.com', email_verified: true },
      ],
    ];
    for (const [index, [person, profile]] of tokens.entries()) {
      issuer.person = { sub: `one source ${index}`, ...person };
      issuer.profile = profile;
      assert.equal((await signIn()).error, 'email_unverified', JSON.stringify([person, profile]));
    }
  });

  it('rejects a subject that names nobody, and a userinfo response about another subject', async () => {
    for (const sub of ['', ' ', '\t', '\u00a0', 'a\u0000', 'x'.repeat(256), 7, null, undefined]) {
      arrive({ sub });
      assert.equal((await signIn()).error, 'invalid_response', JSON.stringify(sub));
    }
    arrive({ sub: 'x'.repeat(255) });
    assert.equal((await signIn()).error, null);
    for (const sub of ['another', '', 'WITHOUT-EMAIL', null]) {
      issuer.person = { sub: 'without-email' };
      issuer.profile = { sub, email: 'victim@example.com', email_verified: true };
      assert.equal((await signIn()).error, 'invalid_response', JSON.stringify(sub));
    }
  });

  it('rejects a callback after ten minutes', async () => {
    const { cookie } = await browser.start();
    const seconds = (count: number) => readTransaction(api.deps.secrets, { cookie }, Date.now() + 1000 * count);
    assert.notEqual(seconds(590), null);
    assert.equal(seconds(601), null);
  });

  it('rejects the callback of another browser, a changed state, and a second use', async () => {
    const { callback, cookie } = await browser.start();
    const errorWith = async (value: string) => (await browser.finish({ callback, cookie: value })).error;
    assert.equal(await errorWith(''), 'expired');
    assert.equal(await errorWith('quire_oidc=Zm9yZ2Vk'), 'expired');
    assert.equal(await errorWith((await browser.start()).cookie), 'invalid_response');
    assert.equal(await errorWith(cookie), null);
    assert.equal(await errorWith(cookie), 'invalid_response');
  });

  it('returns to paths of the console only', async () => {
    const send = (path: string) =>
      api.send('POST', '/v1/session/oidc', { key: null, body: { return_to: path }, headers: SAME_ORIGIN });
    for (const path of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/\t/evil.example',
      '/a\r\nx: y',
      '/%0a\\',
      '',
    ]) {
      assertError(await send(path), 400, 'invalid_value', 'return_to');
    }
    assert.equal((await send('/knowledge-bases/kb_1?tab=search#x')).status, 200);
  });

  it('starts from the console only', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }] as Record<
      string,
      string
    >[]) {
      const answer = await api.send('POST', '/v1/session/oidc', { key: null, body: {}, headers });
      assertError(answer, 403, 'insufficient_scope');
    }
  });

  it('sends the configured address as redirect URI, otherwise that of the request', async () => {
    await browser.start();
    assert.equal(issuer.redirectUris.at(-1), `${api.url}/v1/session/oidc/callback`);
    configure({ publicUrl: 'https://quire.example.com' });
    await browser.start();
    assert.equal(issuer.redirectUris.at(-1), 'https://quire.example.com/v1/session/oidc/callback');
    configure({ publicUrl: null });
  });
});

describe('people of the issuer', () => {
  it('without a role or a verified email are not admitted', async () => {
    configure({ oidcDefaultRole: null });
    assert.equal((await signIn()).error, 'unknown_user');
    configure({ oidcDefaultRole: 'viewer' });
    arrive({ email_verified: false });
    assert.equal((await signIn()).error, 'email_unverified');
    arrive({ email: undefined });
    assert.equal((await signIn()).error, 'email_unverified');
  });

  it('of other domains are not admitted', async () => {
    configure({ oidcAllowedDomains: ['example.com'] });
    arrive({ email: 'mallory@evil-example.com' });
    assert.equal((await signIn()).error, 'domain_not_allowed');
    arrive();
    assert.equal((await signIn()).error, null);
  });

  it('do not get an account that exists with their email, unless the operator trusts the emails of the issuer', async () => {
    const email = 'grace@example.com';
    const { id, cookie } = await withPassword(email);
    arrive({ email });
    assert.equal((await signIn()).error, 'account_exists');
    configure({ oidcLinking: 'verified_email' });
    issuer.person = { ...issuer.person, email_verified: false };
    assert.equal((await signIn()).error, 'email_unverified');
    issuer.person = { ...issuer.person, email_verified: true };
    const { session } = await signIn();
    const { user } = await sessionOf(session);
    // Whoever created the account before has neither its password nor a session any more.
    assert.deepEqual([user.id, user.has_password], [id, false]);
    assertError(await api.send('GET', '/v1/session', { key: null, headers: { cookie } }), 401, 'invalid_session');
  });

  it('are linked with one account only', async () => {
    const link = { link: true, password: PASSWORD, return_to: '/settings' };
    const { id, cookie } = await withPassword('linus@example.com');
    arrive({ email: 'private@mail.example', email_verified: false });
    assert.equal((await signIn(link, { cookie })).error, null);
    assert.equal((await signIn(link, { cookie })).error, null, 'a repetition has no effect');
    assert.equal((await sessionOf((await signIn()).session)).user.id, id);
    const other = await withPassword('ken@example.com');
    const taken = await signIn(link, { cookie: other.cookie });
    assert.match(taken.location, /^\/settings\?error=identity_in_use/);
  });

  it('accept invitations', async () => {
    configure({ oidcDefaultRole: null });
    const invitation = await inviteUser(api, 'viewer', { organization: 'invited' });
    const { session } = await signIn({ invitation });
    const { organization } = await sessionOf(session);
    assert.deepEqual([organization.name, organization.role], ['invited', 'viewer']);
    assert.equal((await signIn({ invitation })).error, 'invalid_invitation');
    const second = await signIn({ invitation: await inviteUser(api, 'owner', { organization: 'invited too' }) });
    assert.equal((await sessionOf(second.session)).organization.name, 'invited too');
  });

  it('have the role of their groups after every sign-in', async () => {
    await withPassword('owner@example.com');
    configure({ oidcRoles: parseGroupRoles('admins=owner, staff=developer'), oidcDefaultRole: null });
    arrive({ groups: ['others'] });
    assert.equal((await signIn()).error, 'no_role');
    const roleWith = async (groups: unknown) => {
      issuer.person = { ...issuer.person, groups };
      const { session, error } = await signIn();
      return error ?? (await sessionOf(session)).organization.role;
    };
    assert.equal(await roleWith(['staff', 'admins']), 'owner');
    assert.equal(await roleWith('staff'), 'developer');
    assert.equal(await roleWith([]), 'no_role');
    await makeOrganization(api, 'with one owner');
    configure({ oidcOrganization: 'with one owner' });
    arrive();
    assert.equal(await roleWith('admins'), 'owner');
    assert.equal(await roleWith('staff'), 'owner', 'the last owner stays');
    await api.db.execute('update users set is_operator = true');
    assert.equal(await roleWith([]), 'owner', 'groups change no operator');
  });
});

describe('without an issuer', () => {
  const plain = useApi();

  it('the console offers no sign-in through one', async () => {
    const { json } = await plain.send('GET', '/v1/session/options', { key: null });
    assertSchema(SignInOptions, json);
    assert.equal(json.oidc, null);
    assert.deepEqual((await api.send('GET', '/v1/session/options', { key: null })).json.oidc, { name: 'Acme ID' });
    const answer = await plain.send('POST', '/v1/session/oidc', { key: null, body: {}, headers: SAME_ORIGIN });
    assertError(answer, 404, 'sign_in_provider_not_found');
    const callback = await fetch(`${plain.url}/v1/session/oidc/callback?code=a&state=b`, { redirect: 'manual' });
    assert.match(callback.headers.get('location') ?? '', /^\/sign-in\?error=expired/);
  });
});

describe('claims', () => {
  it('give an email only when it is verified, and the highest role', () => {
    const identity = (claims: object) => readIdentity({ iss: 'i', sub: 's', ...claims }, 'groups');
    assert.equal(identity({ email: 'A@b.c', email_verified: 'true' }).email, 'a@b.c');
    for (const claims of [
      { email: 'a@b.c' },
      { email: 'a@b.c', email_verified: 'false' },
      { email: 1, email_verified: true },
    ]) {
      assert.equal(identity(claims).email, null);
    }
    const roles = { oidcRoles: parseGroupRoles('a=viewer,b=owner'), oidcDefaultRole: 'developer' as const };
    assert.equal(roleOfIdentity(identity({ groups: ['a', 'b'] }), roles), 'owner');
    assert.equal(roleOfIdentity(identity({ groups: { a: 1 } }), roles), 'developer');
    assert.ok(!hasAllowedDomain(identity({ email: 'a@sub.b.c', email_verified: true }), ['b.c']));
    assert.throws(() => parseGroupRoles('staff=boss'), /must be pairs/);
  });
});
