import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptInvitation, asUser, type ConsoleUser, inviteUser, joinAsUser } from '../../test/console-users.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { newId } from '../lib/ids.ts';
import { PasswordReset, UserList } from './schema.ts';

describe('a lost password', () => {
  const api = useApi();
  const reset = (user: Pick<ConsoleUser, 'send'>, id: string) =>
    user.send('POST', `/v1/admin/users/${id}/password-reset`);
  const redeem = (token: string, password = 'a new password') =>
    api.send('POST', '/v1/session/password-reset', { key: null, body: { token, new_password: password } });

  it('is replaced by a one-time link of an owner, which ends the sessions of the user', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'forgetful' });
    const email = 'bob@example.com';
    const bob = asUser(
      api,
      await acceptInvitation(api, await inviteUser(api, 'viewer', { organization: 'forgetful' }), { email }),
    );
    const { json: first } = await reset(owner, bob.id);
    const { json, status } = await reset(owner, bob.id);
    assert.equal(status, 200);
    assertSchema(PasswordReset, json);
    assertError(await redeem(first.token), 400, 'invalid_value', 'token');
    assertError(await redeem(json.token, 'short'), 400, 'invalid_value', 'new_password');
    assert.equal(asUser(api, await redeem(json.token)).id, bob.id);
    assertError(await redeem(json.token), 400, 'invalid_value', 'token');
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
    const { id } = await joinAsUser(api, 'owner');
    const { json } = await api.send('POST', `/v1/admin/users/${id}/password-reset`);
    await api.db.execute("update password_resets set expires_at = now() - interval '1 second'");
    assertError(await redeem(json.token), 400, 'invalid_value', 'token');
  });

  it('an owner resets nobody with rights beyond the own organization; operators do', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'narrow' });
    const operator = await joinAsUser(api, 'owner', { organization: 'narrow', isOperator: true });
    const email = 'wide@example.com';
    const wide = asUser(
      api,
      await acceptInvitation(api, await inviteUser(api, 'viewer', { organization: 'narrow' }), { email }),
    );
    await acceptInvitation(api, await inviteUser(api, 'viewer', { organization: 'wide' }), { email });
    for (const id of [operator.id, wide.id]) {
      assertError(await reset(owner, id), 403, 'insufficient_scope', 'user_id');
      assert.equal((await reset(operator, id)).status, 200);
    }
    const stranger = await joinAsUser(api, 'viewer', { organization: 'elsewhere' });
    assertError(await reset(owner, stranger.id), 404, 'user_not_found', 'user_id');
    assertError(await reset(owner, newId('user')), 404, 'user_not_found', 'user_id');
    assertError(await reset(stranger, owner.id), 403, 'insufficient_scope');
    const { key } = await api.makeKey({ organization: 'narrow', scopes: ['keys'] });
    const byKey = await api.send('POST', `/v1/admin/users/${wide.id}/password-reset`, { key });
    assertError(byKey, 403, 'insufficient_scope');
  });

  it('operators list the users by a part of email or name', async () => {
    const { id } = await joinAsUser(api, 'viewer');
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
