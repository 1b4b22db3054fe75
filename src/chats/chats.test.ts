import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { sql as fragment } from 'drizzle-orm';
import { until, withDeadline } from '../../test/deadline.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import { untilAborted } from '../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { openUserSession, type SignedIn } from '../../test/support/open-session.ts';
import { untilBlocked } from '../../test/support/until-blocked.ts';
import type { GenerationRequest } from '../engines/engine.ts';
import { newId } from '../lib/ids.ts';
import { purgeResponses } from '../responses/purge-responses.ts';
import { RUN_RESPONSE, runBackground } from '../responses/run-background.ts';
import { ChatMessageResource, ChatResource } from './schema.ts';

const MODEL = 'general-8b';

describe('chats', () => {
  const harmless = { harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 };
  const api = useApi({ jobs: [RUN_RESPONSE], scoreTexts: async (texts) => texts.map(() => harmless) });
  let ada: SignedIn;
  /** The owner of the organization, whose chats are not those of Ada. */
  let owner: SignedIn;
  let foreign: SignedIn;
  before(async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    const { organizationId } = await api.makeKey({ organization: 'harbour' });
    const other = await api.makeKey({ organization: 'other' });
    ada = await openUserSession(api, [organizationId], { role: 'viewer' });
    owner = await openUserSession(api, [organizationId]);
    foreign = await openUserSession(api, [other.organizationId]);
  });
  const create = async (body: object = {}, user = ada) => (await user.send('POST', '/v1/chats', body)).json;
  /** Sends a message, and returns it when its answer has ended. */
  const send = async (chatId: string, body: object) => {
    const sent = await ada.send('POST', `/v1/chats/${chatId}/messages`, { model: MODEL, ...body });
    assert.equal(sent.status, 200, sent.text);
    assertSchema(ChatMessageResource, sent.json);
    const path = `/v1/chats/${chatId}/messages/${sent.json.id}`;
    const { text } = await withDeadline('the answer', ada.send('GET', `${path}?stream=true`));
    return { path, events: chunks(text), message: (await ada.send('GET', path)).json };
  };
  const list = async (query = '', user = ada): Promise<string[]> => {
    const { json, text } = await user.send('GET', `/v1/chats${query}`);
    return json.data?.map(({ id }: { id: string }) => id) ?? assert.fail(text);
  };
  const answerOf = ({ response }: ChatMessageResource) =>
    response.output.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : [])).join('');
  /** A model that writes two words and stalls. */
  const stall = () => {
    playTurns(api.engine);
    const started = Promise.withResolvers<void>();
    api.engine.play(async function* (_request: GenerationRequest, signal) {
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 };
      yield { type: 'text-delta', choice: 0, text: 'It is ', tokens: 2 };
      started.resolve();
      await untilAborted(signal);
    });
    return started.promise;
  };

  it('keep the title that its owner gives while the first message is sent', async () => {
    playTurns(api.engine, says('Nine.'));
    const { id } = await create();
    const [sending] = await api.db.sql.transaction(async (sql) => {
      await sql.execute(fragment`update chats set title = 'Tides', is_title_final = true where id = ${id}`);
      const running = send(id, { text: 'When is high water?' });
      await untilBlocked(api.db, running);
      return [running];
    });
    await sending;
    assert.equal((await ada.send('GET', `/v1/chats/${id}`)).json.title, 'Tides');
  });

  it('store messages and answers, whose branches models read', async () => {
    playTurns(api.engine, says('It is cold.'));
    const chat = await create();
    assertSchema(ChatResource, chat);
    assert.deepEqual([chat.title, chat.pinned, chat.message_count], ['', false, 0]);
    const first = await send(chat.id, { text: 'Is it\n warm?' });
    assert.equal(first.events.at(-1).type, 'response.completed');
    assert.equal(answerOf(first.message), 'It is cold.');
    assert.equal(typeof first.message.duration_ms, 'number');
    const second = await send(chat.id, { text: 'And at night?', parent_id: first.message.id });
    const texts = () => chatPromptOf(api.engine.calls.at(-1)!).messages.map(({ content }) => content);
    assert.deepEqual(texts(), ['Is it\n warm?', 'It is cold.', 'And at night?']);
    const branch = await send(chat.id, { text: 'And in May?', parent_id: first.message.id });
    assert.deepEqual(texts(), ['Is it\n warm?', 'It is cold.', 'And in May?']);
    const { json } = await ada.send('GET', `/v1/chats/${chat.id}/messages`);
    assert.deepEqual(json.data, [first.message, second.message, branch.message]);
    const stored = (await ada.send('GET', `/v1/chats/${chat.id}`)).json;
    assert.deepEqual(
      [stored.title, stored.model, stored.current_message_id, stored.message_count],
      ['Is it warm?', MODEL, branch.message.id, 3],
    );
  });

  it('stream the answer of a message, and its events from any of them later', async () => {
    playTurns(api.engine, says('It is cold.'));
    const { id } = await create();
    const body = { model: MODEL, text: 'Is it warm?', stream: true };
    const { text } = await ada.send('POST', `/v1/chats/${id}/messages`, body);
    const events = chunks(text);
    const path = `/v1/chats/${id}/messages/${events[0].response.id}?stream=true`;
    assert.deepEqual(chunks((await ada.send('GET', path)).text), events);
    assert.deepEqual(chunks((await ada.send('GET', `${path}&starting_after=2`)).text), events.slice(3));
  });

  it('show an answer that runs, which ends when it is cancelled and keeps its text', async () => {
    const started = stall();
    const { id } = await create();
    const { json } = await ada.send('POST', `/v1/chats/${id}/messages`, { model: MODEL, text: 'Is it warm?' });
    await withDeadline('the first text', started);
    const path = `/v1/chats/${id}/messages/${json.id}`;
    await until(async () => answerOf((await ada.send('GET', path)).json) !== '');
    const next = await ada.send('POST', `/v1/chats/${id}/messages`, { model: MODEL, text: 'So?', parent_id: json.id });
    assertError(next, 400, 'invalid_value', 'parent_id');
    const cancelled = (await ada.send('POST', `${path}/cancel`)).json;
    assert.deepEqual([cancelled.response.status, answerOf(cancelled)], ['cancelled', 'It is ']);
    assert.deepEqual((await ada.send('POST', `${path}/cancel`)).json, cancelled);
    playTurns(api.engine, says('cold.'));
    await send(id, { text: 'Go on.', parent_id: json.id });
    const { messages } = chatPromptOf(api.engine.calls.at(-1)!);
    assert.deepEqual(
      messages.map(({ content }) => content),
      ['Is it warm?', 'It is ', 'Go on.'],
    );
  });

  it('end when the chat is deleted, with answers that run', async () => {
    const started = stall();
    const { id } = await create();
    const { json } = await ada.send('POST', `/v1/chats/${id}/messages`, { model: MODEL, text: 'Is it warm?' });
    await withDeadline('the first text', started);
    assert.deepEqual((await ada.send('DELETE', `/v1/chats/${id}`)).json, { id, object: 'chat', deleted: true });
    const { signal } = api.engine.calls[0]!;
    await withDeadline(
      'the abort',
      untilAborted(signal).catch(() => {}),
    );
    assertError(await ada.send('GET', `/v1/chats/${id}`), 404, 'chat_not_found', 'chat_id');
    const { rows } = await api.db.execute('select id from responses where id = $1', [json.id]);
    assert.deepEqual(rows, []);
  });

  it('are screened: a message that a policy blocks is neither stored nor sent to a model', async () => {
    const { organizationId, key } = await api.makeKey({ organization: 'screened' });
    const user = await openUserSession(api, [organizationId]);
    const policy = { name: 'Birds', topic_deny_list: [{ topic: 'falcon', action: 'block' }] };
    assert.equal((await api.send('POST', '/v1/guardrail-policies', { key, body: policy })).status, 200);
    playTurns(api.engine, says('It is cold.'));
    const { id } = await create({}, user);
    const path = `/v1/chats/${id}/messages`;
    const blocked = await user.send('POST', path, { model: MODEL, text: 'about a falcon' });
    assert.deepEqual([blocked.status, blocked.json.error.code], [400, 'content_filtered']);
    assert.deepEqual((await user.send('GET', path)).json.data, []);
    assert.equal(api.engine.calls.length, 0);
    assert.equal((await user.send('POST', path, { model: MODEL, text: 'about a heron' })).status, 200);
  });

  it('outlive the responses of the API, and lose only their events', async () => {
    playTurns(api.engine, says('It is cold.'));
    const { id } = await create();
    const { message, path } = await send(id, { text: 'Is it warm?' });
    await purgeResponses({ db: api.db, now: () => Date.now() + 25 * 60 * 60 * 1000 });
    assert.deepEqual((await ada.send('GET', path)).json, message);
    assert.deepEqual(chunks((await ada.send('GET', `${path}?stream=true`)).text), []);
  });

  it('belong to their owner alone: 404 for the owner of the organization, and not a response of the API', async () => {
    playTurns(api.engine, says('It is cold.'));
    const { id } = await create();
    const { message, path } = await send(id, { text: 'Is it warm?' });
    for (const other of [owner, foreign]) {
      const routes: [method: string, path: string, body?: object][] = [
        ['GET', `/v1/chats/${id}`],
        ['PATCH', `/v1/chats/${id}`, { pinned: true }],
        ['DELETE', `/v1/chats/${id}`],
        ['GET', `/v1/chats/${id}/messages`],
        ['POST', `/v1/chats/${id}/messages`, { model: MODEL, text: 'Me, too' }],
        ['GET', path],
        ['GET', `${path}?stream=true`],
        ['POST', `${path}/cancel`],
      ];
      for (const [method, url, body] of routes)
        assertError(await other.send(method, url, body), 404, 'chat_not_found', 'chat_id');
      assert.ok(!(await list('', other)).includes(id));
    }
    for (const user of [ada, owner]) {
      const answer = await user.send('GET', `/v1/responses/${message.id}`);
      assertError(answer, 404, 'response_not_found', 'response_id');
    }
    const body = { model: MODEL, input: 'So?', previous_response_id: message.id };
    assertError(
      await owner.send('POST', '/v1/responses', body),
      400,
      'previous_response_not_found',
      'previous_response_id',
    );
    const reference = { model: MODEL, input: [{ type: 'item_reference', id: message.response.output[0].id }] };
    assertError(await owner.send('POST', '/v1/responses', reference), 400, 'invalid_value', 'input.0.id');
    const chat = await create();
    const other = await ada.send('GET', `/v1/chats/${chat.id}/messages/${message.id}`);
    assertError(other, 404, 'chat_message_not_found', 'message_id');
    const { status } = await api.send('GET', `/v1/chats/${id}`, { key: null });
    assert.equal(status, 401);
  });
});

describe('the list of chats', () => {
  const api = useApi({ jobs: [RUN_RESPONSE] });
  let ada: SignedIn;
  before(async () => {
    const { organizationId } = await api.makeKey({ organization: 'list' });
    ada = await openUserSession(api, [organizationId]);
  });
  const create = async (title: string) => (await ada.send('POST', '/v1/chats', { title })).json.id;
  const list = async (query = ''): Promise<string[]> =>
    (await ada.send('GET', `/v1/chats${query}`)).json.data.map(({ id }: { id: string }) => id);
  const change = async (id: string, body: object) => ada.send('PATCH', `/v1/chats/${id}`, body);

  it('has pinned chats first, then those with the newest message, in pages', async () => {
    const ids: string[] = [];
    for (const title of ['a', 'b', 'c', 'd']) ids.push(await create(title));
    const [a = '', b = '', c = '', d = ''] = ids;
    await change(a, { pinned: true });
    await ada.send('POST', `/v1/chats/${b}/messages`, { model: MODEL, text: 'Hello' });
    assert.deepEqual(await list(), [a, b, d, c]);
    assert.deepEqual(await list('?limit=2'), [a, b]);
    assert.deepEqual(await list(`?limit=2&after=${b}`), [d, c]);
    assert.deepEqual(await list(`?after=${a}`), [b, d, c]);
    assert.deepEqual(await list(`?after=${newId('chat')}`), []);
    await change(a, { pinned: false });
    assert.deepEqual(await list(), [b, d, c, a]);
  });

  it('finds titles, messages and answers, each as it is written', async () => {
    api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    for (const [index, text] of AWKWARD_TEXTS.entries()) {
      const marked = `<${index}>${text}`;
      const query = `?search=${encodeURIComponent(marked)}`;
      const titled = await create(marked);
      const asked = await create('Titled');
      playTurns(api.engine, says('Nothing.'));
      await ada.send('POST', `/v1/chats/${asked}/messages`, { model: MODEL, text: `before ${marked}`, stream: true });
      const answered = await create('Titled');
      playTurns(api.engine, [{ type: 'text-delta', choice: 0, text: `nul \0 ${marked}`, tokens: 1 }]);
      await ada.send('POST', `/v1/chats/${answered}/messages`, { model: MODEL, text: 'What?', stream: true });
      assert.deepEqual((await list(query)).toSorted(), [titled, asked, answered].toSorted(), text);
    }
    assert.equal((await list('?search=TITLED&limit=100')).length, 2 * AWKWARD_TEXTS.length);
  });

  it('changes title, folder and the branch that is shown', async () => {
    const id = await create('Old');
    const { json } = await change(id, { title: 'New', folder: 'Harbour' });
    assert.deepEqual([json.title, json.folder, json.pinned], ['New', 'Harbour', false]);
    assert.equal((await change(id, { folder: null })).json.folder, null);
    assert.deepEqual((await change(id, {})).json.title, 'New');
    const { json: first } = await ada.send('POST', `/v1/chats/${id}/messages`, { model: MODEL, text: 'A' });
    await ada.send('POST', `/v1/chats/${id}/messages`, { model: MODEL, text: 'B' });
    assert.equal((await change(id, { current_message_id: first.id })).json.current_message_id, first.id);
  });

  it('400 naming the field, 404 for messages that the chat does not have', async () => {
    const id = await create('Chat');
    const messages = `/v1/chats/${id}/messages`;
    const message = { model: MODEL, text: 'Hello' };
    const invalid: [method: string, path: string, body: object | undefined, param: string][] = [
      ['POST', '/v1/chats', { title: '' }, 'title'],
      ['POST', '/v1/chats', { title: 'a\0' }, 'title'],
      ['POST', '/v1/chats', { title: 'a'.repeat(201) }, 'title'],
      ['POST', '/v1/chats', { folder: 'a'.repeat(101) }, 'folder'],
      ['PATCH', `/v1/chats/${id}`, { title: null }, 'title'],
      ['PATCH', `/v1/chats/${id}`, { title: '\0' }, 'title'],
      ['PATCH', `/v1/chats/${id}`, { folder: '\0' }, 'folder'],
      ['PATCH', `/v1/chats/${id}`, { pinned: 'yes' }, 'pinned'],
      ['GET', '/v1/chats?search=', undefined, 'search'],
      ['GET', '/v1/chats?search=%00', undefined, 'search'],
      ['GET', '/v1/chats?after=chat_x', undefined, 'after'],
      ['GET', '/v1/chats?limit=101', undefined, 'limit'],
      ['GET', `${messages}?after=x`, undefined, 'after'],
      ['GET', `${messages}/${newId('response')}?starting_after=1`, undefined, 'starting_after'],
      ['POST', messages, { ...message, text: ' \n' }, 'text'],
      ['POST', messages, { ...message, text: 'a\0' }, 'text'],
      ['POST', messages, { ...message, text: 1 }, 'text'],
      ['POST', messages, { ...message, knowledge_base_ids: 'kb' }, 'knowledge_base_ids'],
      ['POST', messages, { ...message, knowledge_base_ids: Array(65).fill('kb_x') }, 'knowledge_base_ids'],
      ['POST', messages, { ...message, stream: 'yes' }, 'stream'],
    ];
    for (const [method, path, body, param] of invalid)
      assertError(await ada.send(method, path, body), 400, 'invalid_value', param);
    const missing = await ada.send('POST', messages, { model: MODEL });
    assertError(missing, 400, 'missing_required_field', 'text');
    const send = (fields: object) => ada.send('POST', messages, { ...message, ...fields });
    assertError(await send({ model: 'no-such' }), 404, 'model_not_found', 'model');
    const base = await send({ knowledge_base_ids: [newId('knowledgeBase')] });
    assertError(base, 404, 'knowledge_base_not_found', 'knowledge_base_ids.0');
    for (const unknown of ['x', newId('response')]) {
      assertError(await send({ parent_id: unknown }), 404, 'chat_message_not_found', 'parent_id');
      const path = `${messages}/${unknown}`;
      assertError(await ada.send('GET', path), 404, 'chat_message_not_found', 'message_id');
      const current = await change(id, { current_message_id: unknown });
      assertError(current, 404, 'chat_message_not_found', 'current_message_id');
    }
  });
});
