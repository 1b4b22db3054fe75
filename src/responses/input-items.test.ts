import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import OpenAI from 'openai';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { calls, playTurns, says, thinks } from '../../test/response-turns.ts';
import { ResponseInputItemList } from './input-items-schema.ts';
import { responses } from './tables.ts';

describe('GET /v1/responses/{response_id}/input_items', () => {
  const embedder = bundledEmbedder();
  after(() => embedder.close());
  const api = useApi(embeddedBy(embedder));
  let knowledgeBase: string;
  before(async () => {
    knowledgeBase = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Empty' } })).json.id;
  });
  const create = async (fields: object) =>
    (await api.send('POST', '/v1/responses', { body: { model: 'general-8b', ...fields } })).json;
  const list = (id: string, query = '', key = api.key) =>
    api.send('GET', `/v1/responses/${id}/input_items${query}`, { key });
  const client = () => new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
  const TEXT = 'It\'s "warm"\n in Oslo?';

  it('has the text of the request', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id } = await create({ input: TEXT, instructions: 'Be short.' });
    const { status, json } = await list(id);
    assert.equal(status, 200);
    assertSchema(ResponseInputItemList, json);
    const [item] = json.data;
    assert.match(item.id, /^msg_/);
    const content = [{ type: 'input_text', text: TEXT }];
    assert.deepEqual(json, {
      ...{ object: 'list', has_more: false, first_id: item.id, last_id: item.id },
      data: [{ type: 'message', id: item.id, role: 'user', status: 'completed', content }],
    });
    assert.deepEqual((await list(id)).json, json, 'ids do not change');
  });

  it('has the items of the responses that it continues, with their ids, the last one first', async () => {
    const file_search = { knowledge_base_ids: [knowledgeBase], search_type: 'keyword' };
    const tools = [
      { type: 'file_search', file_search },
      { type: 'function', name: 'weather' },
    ];
    playTurns(
      api.engine,
      calls(['file_search', { query: 'Oslo' }]),
      thinks('Hm.', calls(['weather', { city: 'Oslo' }])),
    );
    const first = await create({ input: TEXT, tools });
    const [search, , call] = first.output;
    playTurns(api.engine, says('Yes.'));
    const output = { type: 'function_call_output', call_id: call.call_id, output: '21' };
    const second = await create({ input: [output], previous_response_id: first.id, tools });
    const { json } = await list(second.id, '?order=asc');
    assertSchema(ResponseInputItemList, json);
    const kinds = json.data.map(({ type, id }: { type: string; id: string }) => [type, id]);
    assert.match(kinds[3][1], /^fco_/);
    assert.deepEqual(kinds, [
      ['message', (await list(first.id)).json.data[0].id],
      ['file_search_call', search.id],
      ['function_call', call.id],
      ['function_call_output', kinds[3][1]],
    ]);
    assert.deepEqual(json.data[2], { ...call, status: 'completed' });
    assert.deepEqual((await list(second.id)).json.data, json.data.toReversed());
  });

  it('shows the messages of a chat as items', async () => {
    const tool_calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }));
    const input = [
      { role: 'developer', content: 'Be short.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Wa' },
          { type: 'text', text: 'rm?' },
        ],
      },
      { role: 'assistant', content: null, tool_calls },
      { role: 'tool', tool_call_id: 'a', content: '3' },
      { role: 'tool', tool_call_id: 'b', content: '4' },
      { role: 'assistant', content: 'Cold.', id: 'msg_of_mine' },
      { role: 'user', content: 'Sure?' },
    ];
    playTurns(api.engine, says('Yes.'));
    const { json } = await list((await create({ input })).id, '?order=asc');
    assertSchema(ResponseInputItemList, json);
    const shown = json.data.map((item: Record<string, unknown>) => [
      item['type'],
      item['role'] ?? item['call_id'],
      (item['content'] as [{ type: string; text: string }])?.[0].text ?? item['output'] ?? item['arguments'],
    ]);
    assert.deepEqual(shown, [
      ['message', 'system', 'Be short.'],
      ['message', 'user', 'Warm?'],
      ['function_call', 'a', '{}'],
      ['function_call', 'b', '{}'],
      ['function_call_output', 'a', '3'],
      ['function_call_output', 'b', '4'],
      ['message', 'assistant', 'Cold.'],
      ['message', 'user', 'Sure?'],
    ]);
    const ids = json.data.map(({ id }: { id: string }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(!ids.includes('msg_of_mine'), 'ids that this service has not made are replaced');
  });

  it('pages through all items once in either order, also those that were sent twice', async () => {
    playTurns(api.engine, says('Yes.'));
    const [{ id: sent }] = (await create({ input: 'One' })).output;
    const again = { type: 'message', id: sent, role: 'assistant', content: 'Yes.' };
    const input = [...Array.from({ length: 5 }, (_, n) => ({ role: 'user', content: `${n}` })), again, again, again];
    const { id } = await create({ input });
    const all = (await list(id, '?order=asc&limit=100')).json.data;
    assert.equal(all.length, 8);
    for (const limit of [1, 3, 8]) {
      for (const [order, expected] of [
        ['asc', all],
        ['desc', all.toReversed()],
      ] as const) {
        const items = await Array.fromAsync(client().responses.inputItems.list(id, { limit, order }));
        assert.deepEqual(items, expected, `${limit} ${order}`);
      }
    }
    const included = await client().responses.inputItems.list(id, { include: ['message.output_text.logprobs'] });
    assert.equal(included.data.length, 8);
  });

  it('shows the items of responses that older versions have stored', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id } = await create({ input: 'One' });
    const old = ['One', 'Two'].map((content) => ({ type: 'message', message: { role: 'user', content } }));
    await api.db.sql
      .update(responses)
      .set({ conversation: JSON.stringify(old) })
      .where(eq(responses.id, id));
    const items = await Array.fromAsync(client().responses.inputItems.list(id, { limit: 1, order: 'asc' }));
    assert.deepEqual(
      items.map((item) => item.id),
      ['item_0', 'item_1'],
    );
  });

  it('400, 401, 403 and 404', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id } = await create({ input: 'One' });
    const unstored = await create({ input: 'One', store: false });
    for (const query of ['limit=0', 'limit=101', 'order=up', `after=${id}`, 'after=msg_01kaj3v0b8s4x2m6n9p1q5r7t3']) {
      assertError(await list(id, `?${query}`), 400, 'invalid_value', query.split('=')[0]);
    }
    assertError(await api.send('GET', `/v1/responses/${id}/input_items`, { key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['files'] });
    assertError(await list(id, '', key), 403, 'insufficient_scope');
    const foreign = await api.makeKey({ organization: 'other' });
    assertError(await list(id, '', foreign.key), 404, 'response_not_found', 'response_id');
    for (const none of [unstored.id, 'resp_x']) {
      assertError(await list(none), 404, 'response_not_found', 'response_id');
    }
  });
});
