import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptInvitation, asUser, joinAsUser } from '../../test/console-users.ts';
import { assertError, useApi } from '../../test/harness.ts';
import { newId } from '../lib/ids.ts';

describe('members', () => {
  const api = useApi();

  it('a session without membership is rejected, also when a removal has not deleted it', async () => {
    const user = await joinAsUser(api, 'owner', { organization: 'left' });
    await api.db.execute('delete from members where user_id = $1', [user.id]);
    assertError(await user.send('GET', '/v1/files'), 401, 'invalid_session');
  });

  it('an owner invites, changes and removes members', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'team' });
    const created = await owner.send('POST', '/v1/admin/invitations', { role: 'developer', note: 'bob' });
    assert.equal(created.status, 200, created.text);
    const { json: open } = await owner.send('GET', '/v1/admin/invitations');
    assert.deepEqual(
      open.data.map(({ note }: { note: string }) => note),
      ['bob'],
    );
    assert.ok(!('token' in open.data[0]));
    const bob = asUser(api, await acceptInvitation(api, created.json.token, { email: 'bob@example.com' }));
    const { json: members } = await owner.send('GET', '/v1/admin/members');
    assert.deepEqual(members.data.map(({ role }: { role: string }) => role).toSorted(), ['developer', 'owner']);
    assert.equal((await owner.send('PATCH', `/v1/admin/members/${bob.id}`, { role: 'viewer' })).status, 200);
    assertError(await bob.send('POST', '/v1/knowledge-bases', { name: 'x' }), 403, 'insufficient_scope');
    assert.equal((await owner.send('DELETE', `/v1/admin/members/${bob.id}`)).status, 200);
    assertError(await bob.send('GET', '/v1/files'), 401, 'invalid_session');
    const { rows } = await api.db.execute('select 1 from sessions where user_id = $1', [bob.id]);
    assert.deepEqual(rows, []);
  });

  it('members and invitations of another organization are as unknown as those that do not exist', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'mine' });
    const other = await joinAsUser(api, 'owner', { organization: 'theirs' });
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
    const owner = await joinAsUser(api, 'owner', { organization: 'team' });
    const { json } = await owner.send('POST', '/v1/admin/invitations', { role: 'viewer' });
    const withdraw = `/v1/admin/invitations/${json.id}`;
    assert.equal((await owner.send('DELETE', withdraw)).status, 200);
    assertError(await acceptInvitation(api, json.token), 400, 'invalid_value', 'token');
    assertError(await owner.send('DELETE', withdraw), 404, 'invitation_not_found', 'invitation_id');
    const { json: late } = await owner.send('POST', '/v1/admin/invitations', { role: 'viewer' });
    await api.db.execute("update invitations set expires_at = now() - interval '1 second' where id = $1", [late.id]);
    assertError(await acceptInvitation(api, late.token), 400, 'invalid_value', 'token');
  });

  it('the last owner stays', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'alone' });
    assertError(
      await owner.send('PATCH', `/v1/admin/members/${owner.id}`, { role: 'viewer' }),
      400,
      'invalid_value',
      'role',
    );
    assertError(await owner.send('DELETE', `/v1/admin/members/${owner.id}`), 400, 'invalid_value', 'user_id');
    await joinAsUser(api, 'owner', { organization: 'alone' });
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
