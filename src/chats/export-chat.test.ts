import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { playTurns, says } from '../../test/response-turns.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { newId } from '../lib/ids.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { purgeChats } from '../retention/purge-chats.ts';
import { ChatExport } from './schema.ts';

const MODEL = 'general-8b';

describe('the export of a chat', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  let ada: SignedIn;
  let ben: SignedIn;
  let foreign: SignedIn;
  let organizationId: string;
  let key: string;
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    ({ organizationId, key } = await api.makeKey({ organization: 'harbour' }));
    const other = await api.makeKey({ organization: 'other' });
    ada = await openUserSession(api, [organizationId, other.organizationId]);
    ben = await openUserSession(api, [organizationId]);
    foreign = await openUserSession(api, [other.organizationId]);
  });
  const create = async (body: object = {}, user = ada): Promise<string> =>
    (await user.send('POST', '/v1/chats', body)).json.id;
  const send = async (chatId: string, text: string, parentId: string | null, answer: string): Promise<string> => {
    playTurns(api.engine, says(answer));
    const path = `/v1/chats/${chatId}/messages`;
    const { json } = await ada.send('POST', path, { model: MODEL, text, parent_id: parentId });
    await withDeadline('the answer', ada.send('GET', `${path}/${json.id}?stream=true`));
    return json.id;
  };

  it('has all branches as JSON, and the one that is shown as Markdown', async () => {
    const id = await create({ title: 'Moorings / "2026"' });
    const first = await send(id, 'Is it\nwarm?', null, 'It is cold.');
    const second = await send(id, 'And in May?', first, 'Warmer.');
    const other = await send(id, 'And at night?', first, 'Colder.');
    const path = `/v1/chats/${id}/export`;
    const { json, headers } = await ada.send('GET', path);
    assert.match(headers.get('content-disposition') ?? '', /filename="Moorings - _2026_\.json"/);
    const messages = (await ada.send('GET', `/v1/chats/${id}/messages`)).json.data;
    assertSchema(ChatExport, json);
    assert.deepEqual(json, { object: 'chat.export', chat: (await ada.send('GET', `/v1/chats/${id}`)).json, messages });
    assert.deepEqual(
      messages.map((message: { id: string }) => message.id),
      [first, second, other],
    );
    const { text } = await ada.send('GET', `${path}?format=markdown`);
    assert.equal(
      text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'DAY'),
      `# Moorings / "2026"\n\n## You, DAY UTC\n\nIs it\nwarm?\n\n## ${MODEL}\n\nIt is cold.\n\n## You, DAY UTC\n\nAnd at night?\n\n## ${MODEL}\n\nColder.\n`,
    );
    await ada.send('PATCH', `/v1/chats/${id}`, { current_message_id: second });
    assert.match((await ada.send('GET', `${path}?format=markdown`)).text, /And in May\?\n[\s\S]*Warmer\.\n$/);
  });

  it('reads every page of a long chat, and texts as they are', async () => {
    const id = await create();
    let parent: string | null = null;
    for (let i = 0; i < 52; i += 1) {
      const text = `${i}: ${AWKWARD_TEXTS[i % AWKWARD_TEXTS.length]}`.replaceAll('\0', '');
      parent = (await ada.send('POST', `/v1/chats/${id}/messages`, { model: MODEL, text, parent_id: null })).json.id;
    }
    const { json } = await ada.send('GET', `/v1/chats/${id}/export`);
    assert.equal(json.messages.length, 52);
    assert.equal(json.messages.at(-1).id, parent);
    assert.ok(json.messages[1].text.startsWith('1: '));
    const empty = await create();
    assert.deepEqual((await ada.send('GET', `/v1/chats/${empty}/export`)).json.messages, []);
    assert.equal((await ada.send('GET', `/v1/chats/${empty}/export?format=markdown`)).text, '# Chat\n');
  });

  it('400 for another format, 404 for the chat of another person, 401 without a caller', async () => {
    const id = await create();
    const path = `/v1/chats/${id}/export`;
    assertError(await ada.send('GET', `${path}?format=pdf`), 400, 'invalid_value', 'format');
    for (const user of [ben, foreign]) assertError(await user.send('GET', path), 404, 'chat_not_found', 'chat_id');
    const unknown = `/v1/chats/${newId('chat')}/export`;
    assertError(await ada.send('GET', unknown), 404, 'chat_not_found', 'chat_id');
    assert.equal((await api.send('GET', path, { key: null })).status, 401);
  });

  it('of a member who left is gone with the chats, but not those of others, of keys and of other organizations', async () => {
    const left = await create({ title: 'left' }, ben);
    const stays = await create();
    const ofKey = (await api.send('POST', '/v1/chats', { key, body: {} })).json.id;
    const elsewhere = await create({}, foreign);
    const signal = new AbortController().signal;
    await purgeChats(api.deps, signal);
    const exist = async (id: string) => (await api.db.execute('select from chats where id = $1', [id])).rows.length;
    assert.deepEqual(await Promise.all([left, stays, ofKey, elsewhere].map(exist)), [1, 1, 1, 1]);
    const membership = [organizationId, ben.id];
    await api.db.execute('delete from members where organization_id = $1 and user_id = $2', membership);
    await purgeChats(api.deps, signal);
    assert.deepEqual(await Promise.all([left, stays, ofKey, elsewhere].map(exist)), [0, 1, 1, 1]);
  });
});
