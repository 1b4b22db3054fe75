import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { sql as fragment } from 'drizzle-orm';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { untilBlocked } from '../../test/support/until-blocked.ts';
import { lockOrganization } from '../accounts/store.ts';
import { purgeChats } from '../retention/purge-chats.ts';
import { ChatHistorySettings } from './schema.ts';
import { upsertChatSettings } from './store.ts';

const DAY_MS = 86_400_000;

describe('the settings of chats', () => {
  const api = useApi();
  let owner: SignedIn;
  let viewer: SignedIn;
  let developer: SignedIn;
  let foreign: SignedIn;
  let keys: string;
  before(async () => {
    const { organizationId, key } = await api.makeKey({ organization: 'harbour', scopes: ['inference', 'keys'] });
    keys = key;
    const other = await api.makeKey({ organization: 'other' });
    owner = await openUserSession(api, [organizationId]);
    viewer = await openUserSession(api, [organizationId], { role: 'viewer' });
    developer = await openUserSession(api, [organizationId], { role: 'developer' });
    foreign = await openUserSession(api, [other.organizationId]);
  });
  const PATH = '/v1/chat-settings';
  const read = async (user: SignedIn) => (await user.send('GET', PATH)).json.retention_days;
  const create = async (user: SignedIn): Promise<string> => (await user.send('POST', '/v1/chats', {})).json.id;

  it('are changed by owners, for their organization alone, and audited', async () => {
    assert.deepEqual((await viewer.send('GET', PATH)).json, {
      object: 'chat.settings',
      retention_days: null,
      model_titles: true,
    });
    for (const days of [1, 3650, 30]) {
      const { json } = await owner.send('PATCH', PATH, { retention_days: days });
      assertSchema(ChatHistorySettings, json);
      assert.equal(json.retention_days, days);
    }
    assert.equal((await owner.send('PATCH', PATH, {})).json.retention_days, 30);
    assert.deepEqual([await read(viewer), await read(foreign)], [30, null]);
    const { rows } = await api.db.execute(
      "select changes from audit_events where action = 'organization.updated' and actor = $1 order by id desc limit 1",
      [owner.id],
    );
    const changes = [{ field: 'chat_retention_days', from: 3650, to: 30 }];
    assert.deepEqual(rows, [{ changes }]);
  });

  it('switch the titles by models off, apart from the retention', async () => {
    const { json } = await owner.send('PATCH', PATH, { model_titles: false });
    assert.deepEqual([json.model_titles, json.retention_days], [false, 30]);
    await owner.send('PATCH', PATH, { retention_days: 30 });
    assert.equal((await viewer.send('GET', PATH)).json.model_titles, false);
    assert.equal((await foreign.send('GET', PATH)).json.model_titles, true);
    const { rows } = await api.db.execute(
      "select changes from audit_events where changes::text like '%chat_model_titles%' and actor = $1",
      [owner.id],
    );
    assert.deepEqual(rows, [{ changes: [{ field: 'chat_model_titles', from: true, to: false }] }]);
  });

  it('keep both changes of two owners at one moment', async () => {
    await owner.send('PATCH', PATH, { model_titles: true, retention_days: 30 });
    const { rows } = await api.db.execute('select organization_id from members where user_id = $1', [owner.id]);
    const { organization_id: id } = rows[0] as { organization_id: string };
    const [changing] = await api.db.sql.transaction(async (sql) => {
      await lockOrganization(sql, id);
      await upsertChatSettings(sql, id, { retentionDays: 30, hasModelTitles: false });
      const running = owner.send('PATCH', PATH, { retention_days: 30 });
      await untilBlocked(api.db, running);
      return [running];
    });
    assert.equal((await changing).json.model_titles, false);
    assert.equal((await viewer.send('GET', PATH)).json.model_titles, false);
  });

  it('403 for others than owners, 400 naming the field, 401 without a caller', async () => {
    for (const user of [viewer, developer])
      assert.equal((await user.send('PATCH', PATH, { retention_days: 9 })).status, 403);
    assert.equal((await api.send('PATCH', PATH, { key: keys, body: { retention_days: 9 } })).status, 403);
    for (const days of [0, 3651, 1.5, '9', -1])
      assertError(await owner.send('PATCH', PATH, { retention_days: days }), 400, 'invalid_value', 'retention_days');
    const titles = await owner.send('PATCH', PATH, { model_titles: 'no' });
    assertError(titles, 400, 'invalid_value', 'model_titles');
    for (const method of ['GET', 'PATCH'])
      assert.equal((await api.send(method, PATH, { key: null, ...(method === 'PATCH' && { body: {} }) })).status, 401);
    assert.equal(await read(owner), 30);
  });

  it('delete chats after the days of their organization, not before, and no others', async () => {
    const [mine, theirs] = [await create(viewer), await create(foreign)];
    const exist = async () => {
      const { rows } = await api.db.execute('select id from chats where id = any($1)', [[mine, theirs]]);
      return rows.length;
    };
    const purgeAt = (days: number, extraMs: number) =>
      purgeChats({ ...api.deps, now: () => Date.now() + days * DAY_MS + extraMs }, new AbortController().signal);
    await purgeAt(30, -60_000);
    assert.equal(await exist(), 2);
    await purgeAt(30, 60_000);
    assert.equal(await exist(), 1);
    assert.equal((await foreign.send('GET', `/v1/chats/${theirs}`)).status, 200);
    const stays = await create(viewer);
    // A message that is sent after the purge has selected the chat keeps it.
    const [purging] = await api.db.sql.transaction(async (sql) => {
      await sql.execute(fragment`update chats set updated_at = now() + interval '1 hour' where id = ${stays}`);
      const running = purgeAt(30, 60_000);
      await untilBlocked(api.db, running);
      return [running];
    });
    await purging;
    assert.equal((await viewer.send('GET', `/v1/chats/${stays}`)).status, 200);
    await owner.send('PATCH', PATH, { retention_days: null });
    await purgeAt(4000, 0);
    assert.equal((await viewer.send('GET', `/v1/chats/${stays}`)).status, 200);
  });
});
