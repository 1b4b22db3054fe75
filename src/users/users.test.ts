import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, assertError, assertSchema, startApi, type TestApi, useApi } from '../../test/harness.ts';
import { insertOrganization, selectOrganizationByName } from '../accounts/store.ts';
import { DEFAULT_ORGANIZATION, type UserRole } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { addInvitation } from './invitations.ts';
import { pruneSessions } from './prune-sessions.ts';
import { PasswordReset, UserList } from './schema.ts';
import { sessionCookie } from './session-cookie.ts';
import { createSetupInvitation } from './setup-invitation.ts';

const PASSWORD = 'correct horse battery';
/** A request of the console itself, as browsers mark it. */
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

const sessionToken = (answer: Answer): string =>
  /quire_session=([^;]*)/.exec(answer.headers.get('set-cookie') ?? '')?.[1] ?? '';

/** A signed-in user. */
interface User {
  id: string;
  cookie: string;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

function client(api: TestApi, answer: Answer): User {
  assert.equal(answer.status, 200, answer.text);
  const cookie = `quire_session=${sessionToken(answer)}`;
  const headers = { cookie, ...SAME_ORIGIN };
  const send = (method: string, path: string, body?: unknown) => api.send(method, path, { key: null, headers, body });
  return { id: answer.json.user.id, cookie, send };
}

async function organizationId(api: TestApi, name: string = DEFAULT_ORGANIZATION): Promise<string> {
  await insertOrganization(api.db.sql, newId('organization'), name);
  return (await selectOrganizationByName(api.db.sql, name))?.id ?? '';
}

async function invite(api: TestApi, role: UserRole, { organization = DEFAULT_ORGANIZATION, isOperator = false } = {}) {
  const grant = { organizationId: await organizationId(api, organization), role, isOperator, note: null };
  return (await addInvitation(api.db.sql, grant, Date.now())).token;
}

let users = 0;
const accept = (api: TestApi, token: string, body: object = {}) => {
  users += 1;
  const account = { token, email: `User${users}@example.com`, name: `User ${users}`, password: PASSWORD, ...body };
  return api.send('POST', '/v1/invitations/accept', { key: null, body: account });
};

const join = async (api: TestApi, role: UserRole, options = {}) =>
  client(api, await accept(api, await invite(api, role, options)));

describe('sign-in', () => {
  const api = useApi();

  it('an invitation creates a user once, and its password signs in', async () => {
    const token = await invite(api, 'developer');
    const joined = await accept(api, token, { email: 'Ada@Example.com', name: 'Ada' });
    assert.deepEqual(joined.json.user.email, 'ada@example.com');
    assert.equal(joined.json.organization.role, 'developer');
    assertError(await accept(api, token), 400, 'invalid_invitation', 'token');
    const signIn = (body: object) => api.send('POST', '/v1/session', { key: null, body });
    assert.equal((await signIn({ email: 'ADA@example.com', password: PASSWORD })).status, 200);
    assertError(await signIn({ email: 'ada@example.com', password: 'wrong' }), 401, 'invalid_credentials');
    assertError(await signIn({ email: 'nobody@example.com', password: PASSWORD }), 401, 'invalid_credentials');
    assertError(await signIn({ email: 'ada', password: PASSWORD }), 400, 'invalid_value', 'email');
  });

  it('an invitation of an existing email needs the password of its account', async () => {
    const email = 'grace@example.com';
    await accept(api, await invite(api, 'viewer'), { email });
    const token = await invite(api, 'owner', { organization: 'second' });
    const wrong = await accept(api, token, { email, password: 'another password' });
    assertError(wrong, 400, 'invalid_value', 'password');
    const { json } = await accept(api, token, { email });
    assert.deepEqual(
      json.organizations.map(({ name, role }: { name: string; role: string }) => [name, role]),
      [
        ['default', 'viewer'],
        ['second', 'owner'],
      ],
    );
  });

  it('the cookie cannot be read by scripts, and is sent to no other site', async () => {
    const answer = await accept(api, await invite(api, 'viewer'));
    const cookie = answer.headers.get('set-cookie') ?? '';
    for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/']) assert.ok(cookie.includes(attribute), cookie);
    assert.ok(!cookie.includes('Secure'));
    assert.ok(sessionCookie('t', { 'x-forwarded-proto': 'https' }).endsWith('; Secure'));
  });

  it('a request of another origin is rejected: it cannot change anything with the cookie', async () => {
    const { cookie } = await join(api, 'owner');
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
      assertError(await send(headers), 403, 'cross_site_request');
      for (const [method, path] of [
        ['POST', '/v1/knowledge-bases'],
        ['POST', '/v1/session/password'],
        ['PUT', '/v1/guardrail-policies/gp_0'],
        ['PATCH', '/v1/session'],
        ['DELETE', '/v1/files/file-0'],
      ] as const) {
        const body = { name: 'a', organization_id: 'o', current_password: 'x', new_password: 'a new password' };
        const answer = await api.send(method, path, { key: null, headers: { cookie, ...headers }, body });
        assertError(answer, 403, 'cross_site_request');
      }
    }
    const body = { email: 'a@b.c', password: 'x' };
    const signIn = await api.send('POST', '/v1/session', {
      key: null,
      body,
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    assertError(signIn, 403, 'cross_site_request');
    assert.equal((await send({}, 'GET')).status, 200);
    assert.equal((await send({ origin: `http://${host}` })).status, 200);
  });

  it('sign-out ends the session, and everywhere all sessions of the user', async () => {
    const email = 'linus@example.com';
    const first = client(api, await accept(api, await invite(api, 'owner'), { email }));
    const signIn = async () =>
      client(api, await api.send('POST', '/v1/session', { key: null, body: { email, password: PASSWORD } }));
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
    const user = client(api, await accept(api, await invite(api, 'viewer'), { email }));
    const change = (current: string) =>
      user.send('POST', '/v1/session/password', { current_password: current, new_password: 'a new password' });
    assertError(await change('wrong'), 401, 'invalid_credentials', 'current_password');
    const elsewhere = client(
      api,
      await api.send('POST', '/v1/session', { key: null, body: { email, password: PASSWORD } }),
    );
    const renewed = client(api, await change(PASSWORD));
    for (const { send } of [user, elsewhere]) assertError(await send('GET', '/v1/session'), 401, 'invalid_session');
    assert.equal((await renewed.send('GET', '/v1/session')).status, 200);
    const body = { email, password: 'a new password' };
    assert.equal((await api.send('POST', '/v1/session', { key: null, body })).status, 200);
  });

  it('an expired session is rejected, and its use extends it', async () => {
    const user = await join(api, 'viewer');
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
    const { cookie } = await join(api, 'viewer');
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
    const invited = await accept(api, await invite(api, 'viewer'), { email: body.email });
    assertError(invited, 429, 'rate_limit_exceeded');
  });

  it('are limited for the change of a password', async () => {
    const { send } = await join(api, 'viewer');
    const change = () => send('POST', '/v1/session/password', { current_password: 'x', new_password: PASSWORD });
    for (let attempt = 0; attempt < 4; attempt += 1)
      assertError(await change(), 401, 'invalid_credentials', 'current_password');
    assertError(await change(), 429, 'rate_limit_exceeded');
  });
});

describe('roles', () => {
  const api = useApi();

  it('a viewer reads and changes nothing', async () => {
    const viewer = await join(api, 'viewer');
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
      assertError(await viewer.send(method, path, method === 'POST' ? {} : undefined), 403, 'insufficient_role');
    }
    assertError(await viewer.send('GET', '/v1/admin/keys'), 403, 'insufficient_scope');
  });

  it('a developer uses the organization but manages neither keys nor members', async () => {
    const developer = await join(api, 'developer');
    assert.equal((await developer.send('POST', '/v1/guardrail-policies', { name: 'a' })).status, 200);
    assertError(await developer.send('GET', '/v1/admin/keys'), 403, 'insufficient_scope');
    assertError(await developer.send('POST', '/v1/admin/invitations', { role: 'viewer' }), 403, 'insufficient_scope');
  });

  it('an owner creates keys within the organization, and no key with the scope admin', async () => {
    const owner = await join(api, 'owner', { organization: 'owned' });
    const created = await owner.send('POST', '/v1/admin/keys', { name: 'bot', scopes: ['inference', 'keys'] });
    assert.equal(created.status, 200, created.text);
    assert.equal(created.json.organization_id, await organizationId(api, 'owned'));
    const admin = await owner.send('POST', '/v1/admin/keys', { name: 'bot', scopes: ['admin'] });
    assertError(admin, 403, 'insufficient_scope', 'scopes.0');
    assertError(await owner.send('GET', '/v1/admin/organizations'), 403, 'insufficient_scope');
    const { id } = await api.makeKey({ organization: 'owned', scopes: ['admin'] });
    const rotated = await owner.send('POST', `/v1/admin/keys/${id}/rotate`, {});
    assertError(rotated, 403, 'insufficient_scope', 'key_id');
  });

  it('an operator manages the instance and opens every organization', async () => {
    const operator = await join(api, 'owner', { isOperator: true });
    assert.equal((await operator.send('GET', '/v1/admin/organizations')).status, 200);
    const other = await organizationId(api, 'not joined');
    const { json } = await operator.send('PATCH', '/v1/session', { organization_id: other });
    assert.equal(json.organization.id, other);
    await operator.send('POST', '/v1/guardrail-policies', { name: 'of the other' });
    const { rows } = await api.db.execute('select organization_id as id from guardrail_policies where name = $1', [
      'of the other',
    ]);
    assert.deepEqual(rows, [{ id: other }]);
  });

  it('a user opens no organization without membership', async () => {
    const owner = await join(api, 'owner', { organization: 'own' });
    const foreign = await organizationId(api, 'foreign');
    for (const id of [foreign, newId('organization')]) {
      const answer = await owner.send('PATCH', '/v1/session', { organization_id: id });
      assertError(answer, 404, 'organization_not_found', 'organization_id');
    }
  });

  it('the audit log names the user', async () => {
    const owner = await join(api, 'owner', { organization: 'audited' });
    const { json } = await owner.send('POST', '/v1/guardrail-policies', { name: 'watched' });
    const events = await api.send('GET', `/v1/admin/audit?resource_id=${json.id}`);
    assert.equal(events.json.data[0].actor, owner.id);
  });
});

describe('members', () => {
  const api = useApi();

  it('a session without membership is rejected, also when a removal has not deleted it', async () => {
    const user = await join(api, 'owner', { organization: 'left' });
    await api.db.execute('delete from members where user_id = $1', [user.id]);
    assertError(await user.send('GET', '/v1/files'), 401, 'invalid_session');
  });

  it('an owner invites, changes and removes members', async () => {
    const owner = await join(api, 'owner', { organization: 'team' });
    const created = await owner.send('POST', '/v1/admin/invitations', { role: 'developer', note: 'bob' });
    assert.equal(created.status, 200, created.text);
    const { json: open } = await owner.send('GET', '/v1/admin/invitations');
    assert.deepEqual(
      open.data.map(({ note }: { note: string }) => note),
      ['bob'],
    );
    assert.ok(!('token' in open.data[0]));
    const bob = client(api, await accept(api, created.json.token, { email: 'bob@example.com' }));
    const { json: members } = await owner.send('GET', '/v1/admin/members');
    assert.deepEqual(members.data.map(({ role }: { role: string }) => role).toSorted(), ['developer', 'owner']);
    assert.equal((await owner.send('PATCH', `/v1/admin/members/${bob.id}`, { role: 'viewer' })).status, 200);
    assertError(await bob.send('POST', '/v1/knowledge-bases', { name: 'x' }), 403, 'insufficient_role');
    assert.equal((await owner.send('DELETE', `/v1/admin/members/${bob.id}`)).status, 200);
    assertError(await bob.send('GET', '/v1/files'), 401, 'invalid_session');
    const { rows } = await api.db.execute('select 1 from sessions where user_id = $1', [bob.id]);
    assert.deepEqual(rows, []);
  });

  it('members and invitations of another organization are as unknown as those that do not exist', async () => {
    const owner = await join(api, 'owner', { organization: 'mine' });
    const other = await join(api, 'owner', { organization: 'theirs' });
    const { json: invitation } = await other.send('POST', '/v1/admin/invitations', { role: 'viewer' });
    const requests: [string, (id: string) => string, string, object?][] = [
      ['PATCH', (id) => `/v1/admin/members/${id}`, other.id, { role: 'viewer' }],
      ['DELETE', (id) => `/v1/admin/members/${id}`, other.id],
      ['DELETE', (id) => `/v1/admin/invitations/${id}`, invitation.id],
    ];
    for (const [method, path, id, body] of requests) {
      const unknown = id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
      const [found, missing] = [
        await owner.send(method, path(id), body),
        await owner.send(method, path(unknown), body),
      ];
      assert.equal(found.status, 404, found.text);
      assert.equal(found.text.replaceAll(id, 'ID'), missing.text.replaceAll(unknown, 'ID'));
    }
    assert.equal((await other.send('GET', '/v1/session')).json.organization.role, 'owner');
  });

  it('a withdrawn or expired invitation creates nobody', async () => {
    const owner = await join(api, 'owner', { organization: 'team' });
    const { json } = await owner.send('POST', '/v1/admin/invitations', { role: 'viewer' });
    const withdraw = `/v1/admin/invitations/${json.id}`;
    assert.equal((await owner.send('DELETE', withdraw)).status, 200);
    assertError(await accept(api, json.token), 400, 'invalid_invitation', 'token');
    assertError(await owner.send('DELETE', withdraw), 404, 'invitation_not_found', 'invitation_id');
    const { json: late } = await owner.send('POST', '/v1/admin/invitations', { role: 'viewer' });
    await api.db.execute("update invitations set expires_at = now() - interval '1 second' where id = $1", [late.id]);
    assertError(await accept(api, late.token), 400, 'invalid_invitation', 'token');
  });

  it('the last owner stays', async () => {
    const owner = await join(api, 'owner', { organization: 'alone' });
    assertError(
      await owner.send('PATCH', `/v1/admin/members/${owner.id}`, { role: 'viewer' }),
      400,
      'invalid_value',
      'role',
    );
    assertError(await owner.send('DELETE', `/v1/admin/members/${owner.id}`), 400, 'invalid_value', 'user_id');
    await join(api, 'owner', { organization: 'alone' });
    assert.equal((await owner.send('PATCH', `/v1/admin/members/${owner.id}`, { role: 'viewer' })).status, 200);
  });

  it('a key with the scope keys manages no people', async () => {
    const { key } = await api.makeKey({ organization: 'team', scopes: ['keys'] });
    const answer = await api.send('POST', '/v1/admin/invitations', { key, body: { role: 'owner' } });
    assertError(answer, 403, 'insufficient_scope');
    const withdrawal = await api.send('DELETE', `/v1/admin/invitations/${newId('invitation')}`, { key });
    assertError(withdrawal, 403, 'insufficient_scope');
  });
});

describe('a lost password', () => {
  const api = useApi();
  const reset = (user: Pick<User, 'send'>, id: string) => user.send('POST', `/v1/admin/users/${id}/password-reset`);
  const redeem = (token: string, password = 'a new password') =>
    api.send('POST', '/v1/session/password-reset', { key: null, body: { token, new_password: password } });

  it('is replaced by a one-time link of an owner, which ends the sessions of the user', async () => {
    const owner = await join(api, 'owner', { organization: 'forgetful' });
    const email = 'bob@example.com';
    const bob = client(api, await accept(api, await invite(api, 'viewer', { organization: 'forgetful' }), { email }));
    const { json: first } = await reset(owner, bob.id);
    const { json, status } = await reset(owner, bob.id);
    assert.equal(status, 200);
    assertSchema(PasswordReset, json);
    assertError(await redeem(first.token), 400, 'invalid_password_reset', 'token');
    assertError(await redeem(json.token, 'short'), 400, 'invalid_value', 'new_password');
    assert.equal(client(api, await redeem(json.token)).id, bob.id);
    assertError(await redeem(json.token), 400, 'invalid_password_reset', 'token');
    assertError(await bob.send('GET', '/v1/session'), 401, 'invalid_session');
    const body = { email, password: 'a new password' };
    assert.equal((await api.send('POST', '/v1/session', { key: null, body })).status, 200);
    const { json: events } = await api.send('GET', `/v1/admin/audit?resource_id=${bob.id}`);
    const actions = events.data.map(({ action, actor }: { action: string; actor: string }) => [action, actor]);
    assert.deepEqual(actions.slice(-2), [
      ['user.password_reset_created', owner.id],
      ['user.password_changed', bob.id],
    ]);
  });

  it('is not replaced by an expired link', async () => {
    const { id } = await join(api, 'owner');
    const { json } = await api.send('POST', `/v1/admin/users/${id}/password-reset`);
    await api.db.execute("update password_resets set expires_at = now() - interval '1 second'");
    assertError(await redeem(json.token), 400, 'invalid_password_reset', 'token');
  });

  it('an owner resets nobody with rights beyond the own organization; operators do', async () => {
    const owner = await join(api, 'owner', { organization: 'narrow' });
    const operator = await join(api, 'owner', { organization: 'narrow', isOperator: true });
    const email = 'wide@example.com';
    const wide = client(api, await accept(api, await invite(api, 'viewer', { organization: 'narrow' }), { email }));
    await accept(api, await invite(api, 'viewer', { organization: 'wide' }), { email });
    for (const id of [operator.id, wide.id]) {
      assertError(await reset(owner, id), 403, 'insufficient_scope', 'user_id');
      assert.equal((await reset(operator, id)).status, 200);
    }
    const stranger = await join(api, 'viewer', { organization: 'elsewhere' });
    assertError(await reset(owner, stranger.id), 404, 'user_not_found', 'user_id');
    assertError(await reset(owner, newId('user')), 404, 'user_not_found', 'user_id');
    assertError(await reset(stranger, owner.id), 403, 'insufficient_scope');
    const { key } = await api.makeKey({ organization: 'narrow', scopes: ['keys'] });
    const byKey = await api.send('POST', `/v1/admin/users/${wide.id}/password-reset`, { key });
    assertError(byKey, 403, 'insufficient_scope');
  });

  it('operators list the users by a part of email or name', async () => {
    const { id } = await join(api, 'viewer');
    const list = async (query: string) => (await api.send('GET', `/v1/admin/users?${query}`)).json;
    const all = await list('limit=100');
    assertSchema(UserList, all);
    const { email } = all.data.find((user: { id: string }) => user.id === id);
    const found = await list(`search=${encodeURIComponent(email.toUpperCase())}`);
    assert.deepEqual(
      found.data.map((user: { id: string }) => user.id),
      [id],
    );
    assert.deepEqual((await list('search=%25')).data, []);
    assert.deepEqual((await list(`limit=1&after=${all.data[0].id}`)).data, [all.data[1]]);
    assertError(await api.send('GET', '/v1/admin/users?search='), 400, 'invalid_value', 'search');
    const { key } = await api.makeKey({ scopes: ['keys'] });
    assertError(await api.send('GET', '/v1/admin/users', { key }), 403, 'insufficient_scope');
  });
});

describe('a deleted organization', () => {
  const api = useApi();

  it('ends its sessions and invitations at once', async () => {
    const owner = await join(api, 'owner', { organization: 'gone' });
    const operator = await join(api, 'owner', { isOperator: true });
    const token = await invite(api, 'viewer', { organization: 'gone' });
    const id = await organizationId(api, 'gone');
    assert.equal((await api.send('DELETE', `/v1/admin/organizations/${id}`)).status, 200);
    assertError(await owner.send('GET', '/v1/files'), 401, 'invalid_session');
    assertError(await accept(api, token), 400, 'invalid_invitation', 'token');
    const answer = await operator.send('PATCH', '/v1/session', { organization_id: id });
    assertError(answer, 404, 'organization_not_found', 'organization_id');
  });

  it('expired sessions and invitations are pruned, others stay', async () => {
    const user = await join(api, 'owner', { organization: 'pruned' });
    await invite(api, 'viewer', { organization: 'pruned' });
    const count = async () => {
      const { rows } = await api.db.execute(
        'select (select count(*) from sessions where user_id = $1)::int as s, (select count(*) from invitations where organization_id = $2)::int as i',
        [user.id, await organizationId(api, 'pruned')],
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
    const { json } = await accept(api, first);
    assert.deepEqual([json.user.is_operator, json.organization.role], [true, 'owner']);
    assert.equal(await createSetupInvitation(api.deps), null);
  });

  it('every other setup link ends with the first account', async () => {
    const { rows } = await api.db.execute('select count(*)::int as links from invitations where is_operator');
    assert.deepEqual(rows, [{ links: 0 }]);
  });
});
