import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConsoleUser, joinAsUser, PASSWORD, SAME_ORIGIN } from '../../../test/console-users.ts';
import { assertError } from '../../../test/harness.ts';
import { LINK, useOidcLinking } from '../../../test/oidc-linking.ts';

const { test, startLink, identitiesOf, auditOf } = useOidcLinking();

/** What ends the session that has started the linking. */
const ENDS: Record<string, (user: ConsoleUser) => Promise<unknown>> = {
  'the user signs out': ({ send }) => send('DELETE', '/v1/session'),
  'the user signs out everywhere': ({ send }) => send('DELETE', '/v1/session?everywhere=true'),
  'the password changes': ({ send }) =>
    send('POST', '/v1/session/password', { current_password: PASSWORD, new_password: 'a new password' }),
  'the password is reset': async ({ id }) => {
    const { json } = await test.api.send('POST', `/v1/admin/users/${id}/password-reset`);
    const body = { token: json.token, new_password: 'a new password' };
    return test.api.send('POST', '/v1/session/password-reset', { key: null, body });
  },
  'the member is removed': ({ id }) => test.api.db.execute('delete from members where user_id = $1', [id]),
  'the organization is deleted': ({ id }) =>
    test.api.db.execute(
      "update organizations set deleted_at = now() where name = 'linking' and exists (select 1 from users where id = $1)",
      [id],
    ),
  'the session expires': ({ id }) =>
    test.api.db.execute("update sessions set expires_at = now() - interval '1 second' where user_id = $1", [id]),
  'another session ends this one': async (user) => {
    const other = await joinAsUser(test.api, 'viewer', { email: user.email });
    await other.send('DELETE', '/v1/session?others=true');
  },
};

describe('a started linking', () => {
  for (const [end, run] of Object.entries(ENDS)) {
    it(`links nobody after ${end}`, async () => {
      const user = await joinAsUser(test.api, 'developer', { organization: 'linking' });
      const started = await startLink(user);
      await run(user);
      const { error, session, location } = await test.browser.finish(started);
      assert.deepEqual([error, session], ['session_ended', '']);
      assert.match(location, /^\/sign-in\?/);
      assert.deepEqual(await identitiesOf(user), []);
    });
  }

  it('links the person and opens no session', async () => {
    const user = await joinAsUser(test.api, 'developer');
    const { location, session } = await test.browser.finish(await startLink(user));
    assert.deepEqual([location, session], ['/settings', '']);
    assert.deepEqual(await identitiesOf(user), [test.issuer.person['sub']]);
    assert.equal((await user.send('GET', '/v1/session')).json.user.is_linked, true);
    assert.deepEqual((await auditOf(user)).at(-1), [
      'user.identity_linked',
      [
        { field: 'issuer', to: test.issuer.url },
        { field: 'subject', to: test.issuer.person['sub'] },
      ],
    ]);
  });
});

describe('linking needs', () => {
  const start = (user: ConsoleUser, body: object) =>
    test.api.send('POST', '/v1/session/oidc', { key: null, body, headers: { cookie: user.cookie, ...SAME_ORIGIN } });

  it('the password of the user', async () => {
    const user = await joinAsUser(test.api, 'developer');
    assertError(await start(user, { link: true }), 400, 'missing_required_field', 'password');
    for (const password of ['', 'wrong', `${PASSWORD} `]) {
      assertError(await start(user, { ...LINK, password }), 401, 'invalid_credentials', 'password');
    }
    for (let attempt = 0; attempt < 2; attempt += 1) await start(user, { ...LINK, password: 'wrong' });
    assertError(await start(user, LINK), 429, 'rate_limit_exceeded');
  });

  it('a recent sign-in of users without a password', async () => {
    const first = await test.browser.signIn();
    const headers = { cookie: first.session };
    const { json } = await test.api.send('GET', '/v1/session', { key: null, headers });
    const user = { id: json.user.id, cookie: first.session };
    test.issuer.person = { ...test.issuer.person, sub: 'a second person' };
    const age = (text: string) =>
      test.api.db.execute(`update sessions set created_at = now() - interval '${text}' where user_id = $1`, [user.id]);
    await age('601 seconds');
    const late = await test.api.send('POST', '/v1/session/oidc', {
      key: null,
      body: { link: true, password: 'any' },
      headers: { ...headers, ...SAME_ORIGIN },
    });
    assertError(late, 401, 'invalid_credentials');
    await age('590 seconds');
    assert.equal((await test.browser.finish(await startLink(user, { link: true }))).error, null);
    assert.equal((await identitiesOf(user)).length, 2);
  });

  it('a session', async () => {
    const answer = await test.api.send('POST', '/v1/session/oidc', { key: null, body: LINK, headers: SAME_ORIGIN });
    assertError(answer, 401, 'invalid_session');
  });
});

describe('an account whose email the issuer has verified', () => {
  it('loses the password, sessions, reset links and other identities of whoever created it', async () => {
    const stranger = await joinAsUser(test.api, 'viewer');
    await test.browser.finish(await startLink(stranger));
    const { json: link } = await test.api.send('POST', `/v1/admin/users/${stranger.id}/password-reset`);
    test.api.deps.config.oidcLinking = 'verified_email';
    test.issuer.person = { sub: 'the owner of the email', email: stranger.email, email_verified: true };
    const { error, session } = await test.browser.signIn();
    test.api.deps.config.oidcLinking = 'settings';
    assert.equal(error, null);
    const { json } = await test.api.send('GET', '/v1/session', { key: null, headers: { cookie: session } });
    assert.deepEqual([json.user.id, json.user.has_password], [stranger.id, false]);
    assert.deepEqual(await identitiesOf(stranger), ['the owner of the email']);
    assertError(await stranger.send('GET', '/v1/session'), 401, 'invalid_session');
    const body = { token: link.token, new_password: 'a new password' };
    const reset = await test.api.send('POST', '/v1/session/password-reset', { key: null, body });
    assertError(reset, 400, 'invalid_value', 'token');
    const actions = (await auditOf(stranger)).map(([action]) => action).slice(-3);
    assert.deepEqual(actions, ['user.password_changed', 'user.identity_unlinked', 'user.identity_linked']);
  });
});
