import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  acceptInvitation,
  asUser,
  inviteUser,
  joinAsUser,
  makeOrganization,
  PASSWORD,
  UNLIMITED_SIGN_IN,
} from '../../test/console-users.ts';
import { type Answer, assertError, CHEAP_PASSWORDS, startApi, type TestApi, useApi } from '../../test/harness.ts';
import { newId } from '../lib/ids.ts';
import { acceptInvitation as redeem } from './members/invitations.ts';
import { createSetupInvitation } from './members/setup-invitation.ts';
import { hashPassword } from './password.ts';
import { pruneSessions } from './sessions/prune-sessions.ts';
import { sessionCookie } from './sessions/session-cookie.ts';
import { selectMemberships, updateUser } from './store.ts';
import { hashToken, newToken } from './tokens.ts';

describe('sign-in', () => {
  const api = useApi();

  it('an invitation creates a user once, and its password signs in', async () => {
    const token = await inviteUser(api, 'developer');
    const joined = await acceptInvitation(api, token, { email: 'Ada@Example.com', name: 'Ada' });
    assert.deepEqual(joined.json.user.email, 'ada@example.com');
    assert.equal(joined.json.organization.role, 'developer');
    assertError(await acceptInvitation(api, token), 400, 'invalid_value', 'token');
    const signIn = (body: object) => api.send('POST', '/v1/session', { key: null, body });
    assert.equal((await signIn({ email: 'ADA@example.com', password: PASSWORD })).status, 200);
    assertError(await signIn({ email: 'ada@example.com', password: 'wrong' }), 401, 'invalid_credentials');
    assertError(await signIn({ email: 'nobody@example.com', password: PASSWORD }), 401, 'invalid_credentials');
    assertError(await signIn({ email: 'ada', password: PASSWORD }), 400, 'invalid_value', 'email');
  });

  it('an invitation of an existing email needs the password of its account', async () => {
    const email = 'grace@example.com';
    await acceptInvitation(api, await inviteUser(api, 'viewer'), { email });
    const token = await inviteUser(api, 'owner', { organization: 'second' });
    const wrong = await acceptInvitation(api, token, { email, password: 'another password' });
    assertError(wrong, 400, 'invalid_value', 'password');
    const { json } = await acceptInvitation(api, token, { email });
    assert.deepEqual(
      json.organizations.map(({ name, role }: { name: string; role: string }) => [name, role]),
      [
        ['default', 'viewer'],
        ['second', 'owner'],
      ],
    );
  });

  it('an invitation that does not exist tells nothing about accounts, and uses up no attempt', async () => {
    const { email } = await joinAsUser(api, 'viewer');
    let attempts = 0;
    const signInLimits = { ...UNLIMITED_SIGN_IN, take: async () => Number(++attempts) };
    const passwordCost = new Proxy(CHEAP_PASSWORDS, { get: () => assert.fail('a password was hashed') });
    const deps = { ...api.deps, signInLimits, passwordCost };
    const expired = await inviteUser(api, 'viewer');
    await api.db.execute("update invitations set expires_at = now() - interval '1 second' where token_hash = $1", [
      hashToken(expired),
    ]);
    const used = await inviteUser(api, 'viewer');
    await acceptInvitation(api, used);
    for (const token of [newToken(), expired, used]) {
      const bodies = [];
      for (const account of [
        { email, password: PASSWORD },
        { email: email.toUpperCase(), password: 'a wrong password' },
        { email: `not-${email}`, password: PASSWORD },
      ]) {
        const answer = await acceptInvitation(api, token, account);
        assertError(answer, 400, 'invalid_value', 'token');
        bodies.push(answer.text);
        const client = { address: '127.0.0.1', requestId: 'req_0', userAgent: null };
        await assert.rejects(redeem(deps, client, { token, ...account }), { code: 'invalid_value', param: 'token' });
      }
      assert.equal(new Set(bodies).size, 1);
    }
    assert.equal(attempts, 0);
  });

  it('an invitation is not accepted by a password that a reset has replaced in the same moment', async () => {
    const { id, email } = await joinAsUser(api, 'viewer');
    const token = await inviteUser(api, 'owner', { organization: 'raced' });
    const sql = Object.create(api.db.sql, {
      transaction: {
        value: async (task: Parameters<typeof api.db.sql.transaction>[0]) => {
          await updateUser(api.db.sql, id, {
            passwordHash: await hashPassword('replaced by a reset', CHEAP_PASSWORDS),
          });
          return api.db.sql.transaction(task);
        },
      },
    });
    const db = { ...api.db, sql };
    const deps = { ...api.deps, db, signInLimits: UNLIMITED_SIGN_IN, passwordCost: CHEAP_PASSWORDS };
    const accepting = redeem(
      deps,
      { address: '127.0.0.1', requestId: 'req_0', userAgent: null },
      { token, email, password: PASSWORD },
    );
    await assert.rejects(accepting, { code: 'invalid_value', param: 'password' });
    assert.deepEqual(
      (await selectMemberships(api.db.sql, id)).map(({ name }) => name),
      ['default'],
    );
  });

  it('the cookie cannot be read by scripts, and is sent to no other site', async () => {
    const answer = await acceptInvitation(api, await inviteUser(api, 'viewer'));
    const cookie = answer.headers.get('set-cookie') ?? '';
    for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/']) assert.ok(cookie.includes(attribute), cookie);
    assert.ok(!cookie.includes('Secure'));
    assert.ok(sessionCookie('t', { 'x-forwarded-proto': 'https' }).endsWith('; Secure'));
  });

  it('a request of another origin is rejected: it cannot change anything with the cookie', async () => {
    const { cookie } = await joinAsUser(api, 'owner');
    const send = (headers: Record<string, string>, method = 'DELETE') =>
      api.send(method, '/v1/session', { key: null, headers: { cookie, ...headers } });
    const { host } = new URL(api.url);
    const foreign: Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign) {
      assertError(await send(headers), 403, 'insufficient_scope');
      for (const [method, path] of [
        ['POST', '/v1/knowledge-bases'],
        ['POST', '/v1/session/password'],
        ['PUT', '/v1/guardrail-policies/gp_0'],
        ['PATCH', '/v1/session'],
        ['DELETE', '/v1/files/file-0'],
      ] as const) {
        const body = { name: 'a', organization_id: 'o', current_password: 'x', new_password: 'a new password' };
        const answer = await api.send(method, path, { key: null, headers: { cookie, ...headers }, body });
        assertError(answer, 403, 'insufficient_scope');
      }
    }
    const body = { email: 'a@b.c', password: 'x' };
    const signIn = await api.send('POST', '/v1/session', {
      key: null,
      body,
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    assertError(signIn, 403, 'insufficient_scope');
    assert.equal((await send({}, 'GET')).status, 200);
    assert.equal((await send({ origin: `http://${host}` })).status, 200);
  });

  it('sign-out ends the session, and everywhere all sessions of the user', async () => {
    const email = 'linus@example.com';
    const first = asUser(api, await acceptInvitation(api, await inviteUser(api, 'owner'), { email }));
    const signIn = async () =>
      asUser(api, await api.send('POST', '/v1/session', { key: null, body: { email, password: PASSWORD } }));
    const second = await signIn();
    assert.notEqual(first.cookie, second.cookie);
    assert.equal((await second.send('DELETE', '/v1/session')).status, 200);
    assertError(await second.send('GET', '/v1/session'), 401, 'invalid_session');
    assertError(await second.send('GET', '/v1/files'), 401, 'invalid_session');
    assert.equal((await first.send('GET', '/v1/session')).status, 200);
    const third = await signIn();
    await third.send('DELETE', '/v1/session?everywhere=true');
    assertError(await first.send('GET', '/v1/files'), 401, 'invalid_session');
  });

  it('a changed password ends the other sessions and replaces the own one', async () => {
    const email = 'ken@example.com';
    const user = asUser(api, await acceptInvitation(api, await inviteUser(api, 'viewer'), { email }));
    const change = (current: string) =>
      user.send('POST', '/v1/session/password', { current_password: current, new_password: 'a new password' });
    assertError(await change('wrong'), 401, 'invalid_credentials', 'current_password');
    const elsewhere = asUser(
      api,
      await api.send('POST', '/v1/session', { key: null, body: { email, password: PASSWORD } }),
    );
    const renewed = asUser(api, await change(PASSWORD));
    for (const { send } of [user, elsewhere]) assertError(await send('GET', '/v1/session'), 401, 'invalid_session');
    assert.equal((await renewed.send('GET', '/v1/session')).status, 200);
    const body = { email, password: 'a new password' };
    assert.equal((await api.send('POST', '/v1/session', { key: null, body })).status, 200);
  });

  it('an expired session is rejected, and its use extends it', async () => {
    const user = await joinAsUser(api, 'viewer');
    const set = (column: string, age: string) =>
      api.db.execute(`update sessions set ${column} = now() ${age} where user_id = $1`, [user.id]);
    await set('last_seen_at', "- interval '1 hour'");
    await set('expires_at', "+ interval '1 minute'");
    assert.equal((await user.send('GET', '/v1/session')).status, 200);
    const read = 'select expires_at > now() + interval \'6 days\' as "isExtended" from sessions where user_id = $1';
    assert.deepEqual((await api.db.execute(read, [user.id])).rows, [{ isExtended: true }]);
    await set('expires_at', "- interval '1 second'");
    assertError(await user.send('GET', '/v1/files'), 401, 'invalid_session');
  });

  it('an API key wins over a cookie, and a request with neither is told about keys', async () => {
    const { cookie } = await joinAsUser(api, 'viewer');
    const withKey = await api.send('GET', '/v1/admin/cache/stats', { headers: { cookie } });
    assert.equal(withKey.status, 200);
    assertError(await api.send('GET', '/v1/files', { key: null }), 401, 'invalid_api_key');
    assertError(await api.send('GET', '/v1/session', { key: null }), 401, 'invalid_session');
  });
});

describe('attempts to sign in', () => {
  let api: TestApi;
  let close: () => Promise<void>;
  before(async () => {
    ({ api, close } = await startApi());
  });
  after(() => close());

  it('are limited per account, existing or not', async () => {
    const answers: Answer[] = [];
    const body = { email: 'guessed@example.com', password: 'x' };
    for (let attempt = 0; attempt < 6; attempt += 1) {
      answers.push(await api.send('POST', '/v1/session', { key: null, body }));
    }
    const last = answers.pop();
    assert.ok(answers.length === 5 && answers.every(({ status }) => status === 401));
    assertError(last as Answer, 429, 'rate_limit_exceeded');
    assert.ok(Number(last?.headers.get('retry-after')) >= 1);
    const invited = await acceptInvitation(api, await inviteUser(api, 'viewer'), { email: body.email });
    assertError(invited, 429, 'rate_limit_exceeded');
  });

  it('are limited for the change of a password', async () => {
    const { send } = await joinAsUser(api, 'viewer');
    const change = () => send('POST', '/v1/session/password', { current_password: 'x', new_password: PASSWORD });
    for (let attempt = 0; attempt < 5; attempt += 1)
      assertError(await change(), 401, 'invalid_credentials', 'current_password');
    assertError(await change(), 429, 'rate_limit_exceeded');
  });
});

describe('roles', () => {
  const api = useApi();

  it('a viewer reads and changes nothing', async () => {
    const viewer = await joinAsUser(api, 'viewer');
    for (const path of [
      '/v1/files',
      '/v1/knowledge-bases',
      '/v1/guardrail-policies',
      '/v1/admin/members',
      '/v1/usage',
    ]) {
      assert.equal((await viewer.send('GET', path)).status, 200, path);
    }
    for (const [method, path] of [
      ['POST', '/v1/knowledge-bases'],
      ['POST', '/v1/chat/completions'],
      ['DELETE', '/v1/files/file-0'],
    ] as const) {
      assertError(await viewer.send(method, path, method === 'POST' ? {} : undefined), 403, 'insufficient_scope');
    }
    assertError(await viewer.send('GET', '/v1/admin/keys'), 403, 'insufficient_scope');
  });

  it('a developer uses the organization but manages neither keys nor members', async () => {
    const developer = await joinAsUser(api, 'developer');
    assert.equal((await developer.send('POST', '/v1/guardrail-policies', { name: 'a' })).status, 200);
    assertError(await developer.send('GET', '/v1/admin/keys'), 403, 'insufficient_scope');
    assertError(await developer.send('POST', '/v1/admin/invitations', { role: 'viewer' }), 403, 'insufficient_scope');
  });

  it('an owner creates keys within the organization, and no key with the scope admin', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'owned' });
    const created = await owner.send('POST', '/v1/admin/keys', { name: 'bot', scopes: ['inference', 'keys'] });
    assert.equal(created.status, 200, created.text);
    assert.equal(created.json.organization_id, await makeOrganization(api, 'owned'));
    const admin = await owner.send('POST', '/v1/admin/keys', { name: 'bot', scopes: ['admin'] });
    assertError(admin, 403, 'insufficient_scope', 'scopes.0');
    assertError(await owner.send('GET', '/v1/admin/organizations'), 403, 'insufficient_scope');
    const { id } = await api.makeKey({ organization: 'owned', scopes: ['admin'] });
    const rotated = await owner.send('POST', `/v1/admin/keys/${id}/rotate`, {});
    assertError(rotated, 403, 'insufficient_scope', 'key_id');
  });

  it('an operator manages the instance and opens every organization', async () => {
    const operator = await joinAsUser(api, 'owner', { isOperator: true });
    assert.equal((await operator.send('GET', '/v1/admin/organizations')).status, 200);
    const other = await makeOrganization(api, 'not joined');
    const { json } = await operator.send('PATCH', '/v1/session', { organization_id: other });
    assert.equal(json.organization.id, other);
    await operator.send('POST', '/v1/guardrail-policies', { name: 'of the other' });
    const { rows } = await api.db.execute('select organization_id as id from guardrail_policies where name = $1', [
      'of the other',
    ]);
    assert.deepEqual(rows, [{ id: other }]);
  });

  it('a user opens no organization without membership', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'own' });
    const foreign = await makeOrganization(api, 'foreign');
    for (const id of [foreign, newId('organization')]) {
      const answer = await owner.send('PATCH', '/v1/session', { organization_id: id });
      assertError(answer, 404, 'organization_not_found', 'organization_id');
    }
  });

  it('the audit log names the user', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'audited' });
    const { json } = await owner.send('POST', '/v1/guardrail-policies', { name: 'watched' });
    const events = await api.send('GET', `/v1/admin/audit?resource_id=${json.id}`);
    assert.equal(events.json.data[0].actor, owner.id);
  });
});

describe('a deleted organization', () => {
  const api = useApi();

  it('ends its sessions and invitations at once', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'gone' });
    const operator = await joinAsUser(api, 'owner', { isOperator: true });
    const token = await inviteUser(api, 'viewer', { organization: 'gone' });
    const id = await makeOrganization(api, 'gone');
    assert.equal((await api.send('DELETE', `/v1/admin/organizations/${id}`)).status, 200);
    assertError(await owner.send('GET', '/v1/files'), 401, 'invalid_session');
    assertError(await acceptInvitation(api, token), 400, 'invalid_value', 'token');
    const answer = await operator.send('PATCH', '/v1/session', { organization_id: id });
    assertError(answer, 404, 'organization_not_found', 'organization_id');
  });

  it('expired sessions and invitations are pruned, others stay', async () => {
    const user = await joinAsUser(api, 'owner', { organization: 'pruned' });
    await inviteUser(api, 'viewer', { organization: 'pruned' });
    const count = async () => {
      const { rows } = await api.db.execute(
        'select (select count(*) from sessions where user_id = $1)::int as s, (select count(*) from invitations where organization_id = $2)::int as i',
        [user.id, await makeOrganization(api, 'pruned')],
      );
      return rows[0];
    };
    await pruneSessions(api.deps);
    assert.deepEqual(await count(), { s: 1, i: 1 });
    await pruneSessions({ ...api.deps, now: () => Date.now() + 8 * 86_400_000 });
    assert.deepEqual(await count(), { s: 0, i: 0 });
  });
});

describe('the setup invitation', () => {
  const api = useApi();

  it('makes the first user an operator, and exists only until there is a user', async () => {
    const first = await createSetupInvitation(api.deps);
    const second = await createSetupInvitation(api.deps);
    assert.ok(first !== null && second !== null && first !== second);
    const { json } = await acceptInvitation(api, first);
    assert.deepEqual([json.user.is_operator, json.organization.role], [true, 'owner']);
    assert.equal(await createSetupInvitation(api.deps), null);
  });

  it('every other setup link ends with the first account', async () => {
    const { rows } = await api.db.execute('select count(*)::int as links from invitations where is_operator');
    assert.deepEqual(rows, [{ links: 0 }]);
  });
});
