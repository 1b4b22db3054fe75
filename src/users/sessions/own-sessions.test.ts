import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConsoleUser, joinAsUser, PASSWORD, SAME_ORIGIN } from '../../../test/console-users.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { isId } from '../../lib/ids.ts';
import { BrowserSessionList } from '../schema.ts';

interface ListedSession {
  id: string;
  user_agent: string | null;
  is_current: boolean;
}

describe('the sessions of a user', () => {
  const api = useApi();
  const list = async ({ send }: ConsoleUser, query = ''): Promise<ListedSession[]> => {
    const { json } = await send('GET', `/v1/browser-sessions${query}`);
    assertSchema(BrowserSessionList, json);
    return json.data;
  };
  const statuses = (users: ConsoleUser[]) =>
    Promise.all(users.map(async ({ send }) => (await send('GET', '/v1/session')).status));

  it('are listed to the user alone, with the browser that signed in', async () => {
    const first = await joinAsUser(api, 'viewer');
    await joinAsUser(api, 'owner');
    const agent = `Browser "1" ${'x'.repeat(400)}`;
    const body = { email: first.email, password: PASSWORD };
    const second = await api.send('POST', '/v1/session', { key: null, body, headers: { 'user-agent': agent } });
    assert.equal(second.status, 200);
    const listed = await list(first);
    assert.deepEqual(
      listed.map(({ user_agent, is_current }) => [user_agent, is_current]),
      [
        [null, true],
        [agent.slice(0, 300), false],
      ],
    );
    assert.deepEqual(await list(first, `?limit=1&after=${listed[0]?.id}`), [listed[1]]);
    assertError(await first.send('GET', '/v1/browser-sessions?after=sess_1'), 400, 'invalid_value', 'after');
    await api.db.execute("update sessions set expires_at = now() - interval '1 second' where id = $1", [listed[1]?.id]);
    assert.deepEqual(await list(first), [listed[0]]);
  });

  it('end one by one, or all but the calling one', async () => {
    const first = await joinAsUser(api, 'viewer');
    const others = [1, 2, 3].map(() => joinAsUser(api, 'viewer', { email: first.email }));
    const [second, third, fourth] = (await Promise.all(others)) as [ConsoleUser, ConsoleUser, ConsoleUser];
    const stranger = await joinAsUser(api, 'owner');
    const ids = async (user: ConsoleUser) => (await list(user)).find(({ is_current: isOwn }) => isOwn)?.id ?? '';
    const path = `/v1/browser-sessions/${await ids(second)}`;
    assertError(await stranger.send('DELETE', path), 404, 'session_not_found', 'session_id');
    assertError(await first.send('DELETE', `${path}x`), 404, 'session_not_found', 'session_id');
    assert.equal((await first.send('DELETE', path)).status, 200);
    assertError(await first.send('DELETE', path), 404, 'session_not_found', 'session_id');
    assert.deepEqual(await statuses([first, second, third, fourth, stranger]), [200, 401, 200, 200, 200]);
    assert.equal((await third.send('DELETE', '/v1/session?others=true')).status, 200);
    assert.deepEqual(await statuses([first, third, fourth, stranger]), [401, 200, 401, 200]);
  });

  it('need a session of the console itself', async () => {
    const { cookie } = await joinAsUser(api, 'viewer');
    for (const [method, path] of [
      ['DELETE', '/v1/session?others=true'],
      ['DELETE', '/v1/browser-sessions/sess_1'],
      ['DELETE', '/v1/session/identities/ident_1'],
      ['GET', '/v1/browser-sessions'],
      ['GET', '/v1/session/identities'],
    ] as const) {
      assertError(await api.send(method, path), 401, 'invalid_session');
      assertError(await api.send(method, path, { key: null, headers: SAME_ORIGIN }), 401, 'invalid_session');
      const foreign = { key: null, headers: { cookie, origin: 'https://evil.example' } };
      const answer = await api.send(method, path, foreign);
      if (method === 'DELETE') assertError(answer, 403, 'insufficient_scope');
      else assert.equal(answer.status, 200);
    }
  });

  it('of an earlier version have ids of the same shape', async () => {
    const user = await joinAsUser(api, 'viewer');
    await api.db.execute('update sessions set id = default where user_id = $1', [user.id]);
    await api.db.execute("insert into user_identities (issuer, subject, user_id) values ('i', 's', $1)", [user.id]);
    const [session] = await list(user);
    const { json } = await user.send('GET', '/v1/session/identities');
    assert.ok(isId('session', session?.id ?? ''), session?.id);
    assert.ok(isId('identity', json.data[0].id), json.data[0].id);
  });
});
