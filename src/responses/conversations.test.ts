import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { openSocket } from '../../test/web-socket-client.ts';
import type { ChatPrompt } from '../engines/engine.ts';
import { ConversationItemList, ConversationResource } from './conversation-schema.ts';
import { purgeResponses } from './purge-responses.ts';

const MODEL = 'general-8b';
const DAY_MS = 24 * 60 * 60 * 1000;
const user = (content: string) => ({ role: 'user' as const, content });

let time = Date.now();

describe('/v1/conversations', () => {
  const api = useApi({ now: () => time });
  const client = () => new OpenAI({ baseURL: `${api.url}/v1`, apiKey: api.key, maxRetries: 0 });
  const create = async (body: object = {}) => (await api.send('POST', '/v1/conversations', { body })).json.id as string;
  const items = async (id: string) => {
    const { json } = await api.send('GET', `/v1/conversations/${id}/items?order=asc`);
    assertSchema(ConversationItemList, json);
    return json.data;
  };
  const texts = async (id: string) =>
    (await items(id)).map((item: { content?: { text: string }[]; output?: string; name?: string }) =>
      String(item.content?.[0]?.text ?? item.output ?? item.name),
    );
  const respond = (conversation: unknown, fields: object = {}) =>
    api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'Hi', conversation, ...fields } });
  const promptTexts = () =>
    (api.engine.calls.at(-1)?.request.prompt as ChatPrompt | undefined)?.messages.map(({ content }) => content);

  it("are created, read, changed and deleted by OpenAI's client", async () => {
    const { conversations } = client();
    const created = await conversations.create({
      metadata: { 'a "b"': "it's" },
      items: [user('one "1"'), user('two')],
    });
    assertSchema(ConversationResource, created);
    assert.deepEqual(await conversations.retrieve(created.id), created);
    const updated = await conversations.update(created.id, { metadata: { c: 'd' } });
    assert.deepEqual(updated.metadata, { c: 'd' });
    const added = await conversations.items.create(created.id, {
      items: [
        { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'done' },
      ],
    });
    assert.equal(added.data.length, 2);
    const listed = [];
    for await (const item of conversations.items.list(created.id, { limit: 3, order: 'asc' })) listed.push(item);
    assert.deepEqual(listed.slice(2), added.data);
    assert.deepEqual(await texts(created.id), ['one "1"', 'two', 'f', 'done']);
    const newest = await conversations.items.list(created.id, { limit: 1 });
    assert.deepEqual(newest.data, added.data.slice(-1));
    const [first] = listed;
    const one = { conversation_id: created.id };
    assert.deepEqual(await conversations.items.retrieve(first?.id ?? '', one), first);
    assert.equal((await conversations.items.delete(first?.id ?? '', one)).id, created.id);
    assert.deepEqual(await texts(created.id), ['two', 'f', 'done']);
    const deleted = await conversations.delete(created.id);
    assert.deepEqual(deleted, { id: created.id, object: 'conversation.deleted', deleted: true });
    assertError(
      await api.send('GET', `/v1/conversations/${created.id}`),
      404,
      'conversation_not_found',
      'conversation_id',
    );
  });

  it('name the field of an invalid request', async () => {
    const id = await create({ items: [user('one')] });
    const [{ id: itemId }] = await items(id);
    const many = Array.from({ length: 21 }, () => user('x'));
    const path = `/v1/conversations/${id}`;
    const invalid: [string, string, object, string, string?][] = [
      ['POST', '/v1/conversations', { items: many }, 'items'],
      ['POST', '/v1/conversations', { items: [{ role: 'user' }] }, 'items.0.content', 'missing_required_field'],
      ['POST', '/v1/conversations', { metadata: { a: '\u0000' } }, 'metadata'],
      ['POST', '/v1/conversations', { metadata: 7 }, 'metadata'],
      ['POST', path, {}, 'metadata', 'missing_required_field'],
      ['POST', `${path}/items`, {}, 'items', 'missing_required_field'],
      ['POST', `${path}/items`, { items: [] }, 'items'],
      ['POST', `${path}/items`, { items: many }, 'items'],
      ['POST', `${path}/items`, { items: [{ type: 'message', id: itemId, ...user('again') }] }, 'items'],
      [
        'POST',
        `${path}/items`,
        { items: [{ type: 'function_call_output', call_id: 'none', output: 'x' }] },
        'items.0.call_id',
      ],
      ['GET', `${path}/items?after=msg_none`, {}, 'after'],
      ['GET', `${path}/items?limit=101`, {}, 'limit'],
    ];
    for (const [method, url, body, param, code = 'invalid_value'] of invalid)
      assertError(await api.send(method, url, method === 'GET' ? {} : { body }), 400, code, param);
    assert.equal((await api.send('POST', '/v1/conversations', { body: { items: many.slice(1) } })).status, 200);
    assertError(await api.send('GET', `${path}/items/msg_none`), 404, 'conversation_item_not_found', 'item_id');
    assertError(await api.send('DELETE', `${path}/items/msg_none`), 404, 'conversation_item_not_found', 'item_id');
    assertError(await api.send('GET', path, { key: null }), 401, 'invalid_api_key');
    assert.deepEqual(await texts(id), ['one']);
  });

  it('a response reads the items, and adds its input and output', async () => {
    const id = await create({ items: [user('My name is "Ada".')] });
    const first = await respond(id, { instructions: 'Be brief.' });
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(first.json.conversation, { id });
    assert.deepEqual(promptTexts(), ['Be brief.', 'My name is "Ada".', 'Hi']);
    await respond({ id }, { input: 'Again', stream: true, store: false });
    assert.deepEqual(promptTexts(), ['My name is "Ada".', 'Hi', 'Hello there.', 'Again']);
    const expected = ['My name is "Ada".', 'Hi', 'Hello there.', 'Again', 'Hello there.'];
    assert.deepEqual(await texts(id), expected);
    const socket = await openSocket(api);
    await socket.turn({ type: 'response.create', model: MODEL, input: 'By socket', conversation: id });
    socket.socket.terminate();
    assert.deepEqual(await texts(id), [...expected, 'By socket', 'Hello there.']);
    const counted = await api.send('POST', '/v1/responses/input_tokens', { body: { model: MODEL, conversation: id } });
    assert.equal(counted.status, 200, counted.text);
    assert.equal((await api.send('GET', `/v1/responses/${first.json.id}`)).json.conversation.id, id);
  });

  it('a response that fails adds nothing, and one that is cut adds what there is', async () => {
    const id = await create();
    api.engine.play(() => {
      throw new Error('the engine failed');
    });
    assert.equal((await respond(id)).status, 500);
    assert.deepEqual(await texts(id), []);
    api.engine.play(() => stream(words('Cut off', 'length')));
    assert.equal((await respond(id)).json.status, 'incomplete');
    api.engine.play(() => stream(words('Hello there.')));
    assert.deepEqual(await texts(id), ['Hi', 'Cut off']);
  });

  it('the items of concurrent responses stay together', async () => {
    const id = await create();
    await Promise.all(['a', 'b', 'c'].map((input) => respond(id, { input })));
    const added = await texts(id);
    assert.deepEqual(added.toSorted(), ['Hello there.', 'Hello there.', 'Hello there.', 'a', 'b', 'c']);
    for (const at of [1, 3, 5]) assert.equal(added[at], 'Hello there.');
  });

  it('400 and 404 for a response that names no conversation of the organization', async () => {
    const id = await create();
    const { id: previous } = (await api.send('POST', '/v1/responses', { body: { model: MODEL, input: 'x' } })).json;
    assertError(await respond(id, { previous_response_id: previous }), 400, 'invalid_value', 'conversation');
    const { key } = await api.makeKey({ organization: 'stranger' });
    const foreign = await api.send('POST', '/v1/responses', {
      key,
      body: { model: MODEL, input: 'x', conversation: id },
    });
    assertError(foreign, 404, 'conversation_not_found', 'conversation');
    assertError(await respond('conv_none'), 404, 'conversation_not_found', 'conversation');
    assertError(await respond("conv_'; --\u0000"), 404, 'conversation_not_found', 'conversation');
    const compacted = await api.send('POST', '/v1/responses/compact', {
      body: { model: MODEL, input: 'x', conversation: id },
    });
    assertError(compacted, 400, 'invalid_value', 'conversation');
    await respond(id);
    const [{ id: itemId }] = await items(id);
    const twice = { type: 'message', id: itemId, ...user('again') };
    assertError(await respond(id, { input: [twice] }), 400, 'invalid_value', 'input');
  });

  it('expire 24 hours after their last use', async () => {
    const [used, unused] = [await create({ items: [user('one')] }), await create({ items: [user('two')] })];
    time += DAY_MS - 60_000;
    assert.equal((await respond(used)).status, 200);
    time += 60_000;
    const gone = await api.send('GET', `/v1/conversations/${unused}`);
    assertError(gone, 404, 'conversation_not_found', 'conversation_id');
    assertError(await respond(unused), 404, 'conversation_not_found', 'conversation');
    await purgeResponses({ db: api.db, now: () => time });
    const left = await api.db.execute(
      'select distinct conversation_id as id from conversation_items where conversation_id = any($1)',
      [[used, unused]],
    );
    assert.deepEqual(left.rows, [{ id: used }]);
    assert.equal((await api.send('GET', `/v1/conversations/${used}`)).status, 200);
    time += DAY_MS;
    assertError(
      await api.send('DELETE', `/v1/conversations/${used}`),
      404,
      'conversation_not_found',
      'conversation_id',
    );
  });
});
