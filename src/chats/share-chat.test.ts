import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { cite, exchange } from '../../test/support/chat-exchanges.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { newId } from '../lib/ids.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { purgeChats } from '../retention/purge-chats.ts';
import { deleteMember } from '../users/store.ts';
import { newToken } from '../users/tokens.ts';
import { ChatShare, SharedChat, SharedChatMessage } from './share-schema.ts';

describe('a shared chat', () => {
  const engine = bundledEmbedder();
  const api = useApi({ ...embeddedBy(engine), jobs: [RUN_RESPONSE] });
  after(() => engine.close());
  let ada: SignedIn;
  let viewer: SignedIn;
  let foreign: SignedIn;
  let organizationId: string;
  let key: string;
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    ({ organizationId, key } = await api.makeKey({ organization: 'harbour' }));
    const other = await api.makeKey({ organization: 'other' });
    ada = await openUserSession(api, [organizationId], { role: 'developer' });
    viewer = await openUserSession(api, [organizationId], { role: 'viewer' });
    foreign = await openUserSession(api, [other.organizationId]);
  });
  const create = async (body: object = {}, user = ada): Promise<string> =>
    (await user.send('POST', '/v1/chats', body)).json.id;
  const ask = (chatId: string, text: string, parentId: string | null = null) =>
    exchange(api, ada, chatId, { text, answer: `Answer to ${text}`, parentId });
  const share = async (chatId: string, user = ada): Promise<string> => {
    const { json, text } = await user.send('POST', `/v1/chats/${chatId}/share`);
    assertSchema(ChatShare, json);
    return json.id ?? assert.fail(text);
  };
  const read = async (id: string, user = viewer, query = '') =>
    (await user.send('GET', `/v1/shared-chats/${id}/messages${query}`)).json;
  const texts = async (id: string) => (await read(id)).data.map(({ text }: { text: string }) => text);
  const assertGone = async (id: string, user = viewer) => {
    for (const path of [`/v1/shared-chats/${id}`, `/v1/shared-chats/${id}/messages`])
      assertError(await user.send('GET', path), 404, 'shared_chat_not_found', 'share_id');
  };

  it('shows members the branch that was shown when it was shared, in pages, and nothing that follows', async () => {
    const id = await create({ title: 'Moorings "2026"' });
    const first = await ask(id, 'One');
    await ask(id, 'Other', first);
    const second = await ask(id, 'Two', first);
    const link = await share(id);
    assert.match(link, /^[\w-]{43}$/);
    await ask(id, 'Three', second);
    await ada.send('PATCH', `/v1/chats/${id}`, { title: 'Renamed', current_message_id: first });
    const { json } = await viewer.send('GET', `/v1/shared-chats/${link}`);
    assertSchema(SharedChat, json);
    assert.deepEqual([json.title, json.owner_name], ['Moorings "2026"', ada.id]);
    const list = await read(link);
    for (const message of list.data) assertSchema(SharedChatMessage, message);
    assert.deepEqual(
      list.data.map(({ text, answer }: SharedChatMessage) => [text, answer.map((part) => part.text)]),
      [
        ['One', ['Answer to One']],
        ['Two', ['Answer to Two']],
      ],
    );
    const page = await read(link, viewer, '?limit=1');
    assert.deepEqual([page.has_more, page.data, page.last_id], [true, [list.data[0]], first]);
    const next = await read(link, viewer, `?limit=1&after=${first}`);
    assert.deepEqual([next.has_more, next.data], [false, [list.data[1]]]);
    assert.equal(await share(id), link, 'shared again');
    assert.deepEqual(await texts(link), ['One']);
  });

  it('has only citations of knowledge bases that the reader may read, and no searches', async () => {
    const base = async (name: string): Promise<string> => {
      return (await api.send('POST', '/v1/knowledge-bases', { key, body: { name } })).json.id;
    };
    const bases = [await base('Harbour'), await base('Board'), newId('knowledgeBase')];
    const id = await create();
    const message = await ask(id, 'What is the fee of the board?');
    const annotations = await cite(api, message, bases);
    const link = await share(id);
    const seen = async (path: string, reader?: string) => {
      const { json } =
        reader === undefined ? await viewer.send('GET', path) : await api.send('GET', path, { key: reader });
      assert.ok(!JSON.stringify(json).includes('secret'));
      return json.data[0].answer[0].annotations;
    };
    const path = `/v1/shared-chats/${link}/messages`;
    assert.deepEqual(await seen(path), annotations.slice(0, 4));
    const limited = await api.makeKey({ organization: 'harbour', knowledgeBaseIds: [bases[1] ?? ''] });
    assert.deepEqual(await seen(path, limited.key), annotations.slice(2, 4));
  });

  it('ends when it is revoked, and with its chat; a new link is another one', async () => {
    const id = await create();
    await ask(id, 'One');
    const link = await share(id);
    const path = `/v1/chats/${id}/share`;
    assert.equal((await ada.send('GET', path)).json.id, link);
    assert.deepEqual((await ada.send('DELETE', path)).json, { id: link, object: 'chat.share', deleted: true });
    await assertGone(link);
    for (const method of ['GET', 'DELETE'])
      assertError(await ada.send(method, path), 404, 'chat_share_not_found', 'chat_id');
    const next = await share(id);
    assert.notEqual(next, link);
    await assertGone(link);
    assert.deepEqual(await texts(next), ['One']);
    await ada.send('DELETE', `/v1/chats/${id}`);
    await assertGone(next);
  });

  it('ends when its owner leaves the organization, and with the retention of chats', async () => {
    const leaver = await openUserSession(api, [organizationId]);
    const ids = [await create({}, leaver), await create()];
    const links: string[] = [];
    for (const [index, user] of [leaver, ada].entries()) {
      await exchange(api, user, ids[index] ?? '', { text: 'Mine', answer: 'Yes.' });
      links.push(await share(ids[index] ?? '', user));
    }
    const [left = '', stays = ''] = links;
    assert.deepEqual(await texts(left), ['Mine']);
    await deleteMember(api.db.sql, organizationId, leaver.id);
    await assertGone(left);
    assert.deepEqual(await texts(stays), ['Mine']);
    const owner = await openUserSession(api, [organizationId]);
    await owner.send('PATCH', '/v1/chat-settings', { retention_days: 30 });
    const purgeAt = (ms: number) =>
      purgeChats({ ...api.deps, now: () => Date.now() + 30 * 86_400_000 + ms }, new AbortController().signal);
    await purgeAt(-60_000);
    assert.deepEqual(await texts(stays), ['Mine']);
    await purgeAt(60_000);
    await assertGone(stays);
    const { rows } = await api.db.execute('select id from chat_shares where id = any($1)', [links]);
    assert.deepEqual(rows, []);
    await owner.send('PATCH', '/v1/chat-settings', { retention_days: null });
  });

  it('is not found by other organizations, unknown or odd ids, and is shared by the owner of the chat alone', async () => {
    const id = await create();
    const path = `/v1/chats/${id}/share`;
    assertError(await ada.send('POST', path), 400, 'invalid_value', 'chat_id');
    await ask(id, 'One');
    const link = await share(id);
    await assertGone(link, foreign);
    for (const odd of [newToken(), link.slice(1), `${link}a`, '%00', `${link.slice(0, 40)}%00aa`])
      await assertGone(odd);
    for (const method of ['POST', 'GET', 'DELETE'])
      for (const user of [viewer, foreign])
        assertError(await user.send(method, path), 404, 'chat_not_found', 'chat_id');
    for (const url of [path, `/v1/shared-chats/${link}`, `/v1/shared-chats/${link}/messages`])
      assert.equal((await api.send('GET', url, { key: null })).status, 401);
    for (const query of ['?limit=0', '?limit=101', '?after=x'])
      assertError(
        await viewer.send('GET', `/v1/shared-chats/${link}/messages${query}`),
        400,
        'invalid_value',
        query.slice(1).split('=')[0],
      );
    assert.deepEqual(await texts(link), ['One']);
  });
});
