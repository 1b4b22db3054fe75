/** How a response begins and ends: when its stream begins, failures of model calls, and items that were cut. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { withDeadline } from '../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { calls, playTurns, says, thinks } from '../../test/response-turns.ts';
import { stream } from '../../test/scripted-engine.ts';
import { selectOrganizationByName } from '../accounts/store.ts';
import { setBalance } from '../billing/credits.ts';
import { usageRecords } from '../billing/tables.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { contextLengthExceeded, engineUnavailable } from '../errors.ts';
import { ResponseResource } from './schema.ts';

const body = { model: 'general-8b', input: 'Is it warm in Oslo?' };
const weather = { type: 'function', name: 'weather' };

describe('the stream of POST /v1/responses', () => {
  const api = useApi();
  const post = (fields: object, key = api.key) =>
    api.send('POST', '/v1/responses', { key, body: { ...body, stream: true, ...fields } });
  const client = () => new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
  /** A model that processes its prompt until `speak` is called. */
  const silent = () => {
    const gate = Promise.withResolvers<Error | null>();
    playTurns(api.engine);
    api.engine.play(async function* () {
      const error = await gate.promise;
      if (error !== null) throw error;
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 };
      yield* says('Yes.');
      yield { type: 'usage', usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 1 } };
    });
    return (error: Error | null = null) => gate.resolve(error);
  };

  it('begins before the model speaks', async () => {
    const speak = silent();
    const events = await withDeadline('the head', client().responses.create({ ...body, stream: true }));
    const iterator = events[Symbol.asyncIterator]();
    const first = await withDeadline('the first event', iterator.next());
    assert.equal(first.value?.type, 'response.created');
    speak();
    const types = (await Array.fromAsync({ [Symbol.asyncIterator]: () => iterator })).map(({ type }) => type);
    assert.equal(types.at(-1), 'response.completed');
  });

  it('ends with response.failed when the model fails before its first token; the response is stored', async () => {
    for (const [error, code, param] of [
      [engineUnavailable('The model is away.', 1), 'engine_unavailable', null],
      [contextLengthExceeded('messages', 9, 5), 'context_length_exceeded', 'input'],
      [new Error('broken "glass"'), 'server_error', null],
    ] as const) {
      const speak = silent();
      const events = await client().responses.create({ ...body, stream: true });
      speak(error);
      const last = (await Array.fromAsync(events)).at(-1);
      assert.ok(last?.type === 'response.failed');
      const { json } = await api.send('GET', `/v1/responses/${last.response.id}`);
      assert.deepEqual(json, last.response);
      assert.deepEqual([json.status, json.error?.code, json.error?.param], ['failed', code, param]);
    }
  });

  it('does not begin for a request that is not accepted', async () => {
    const { length } = api.engine.calls;
    assertError(await post({ model: 'none' }), 404, 'model_not_found', 'model');
    assertError(await post({ max_turns: 51 }), 400, 'invalid_value', 'max_turns');
    assertError(await post({ input: 'x '.repeat(2_000_000) }), 400, 'context_length_exceeded', 'input');
    const { key } = await api.makeKey({ organization: 'poor' });
    const organization = (await selectOrganizationByName(api.db.sql, 'poor'))?.id ?? '';
    await setBalance(api.db.sql, organization, 10, { actor: 'test', note: null });
    assertError(await post({}, key), 402, 'insufficient_credits');
    assert.equal(api.engine.calls.length, length);
  });
});

describe('a failed model call of POST /v1/responses', () => {
  const embedder = bundledEmbedder();
  after(() => embedder.close());
  const api = useApi(embeddedBy(embedder));
  let knowledgeBase: string;
  before(async () => {
    knowledgeBase = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Empty' } })).json.id;
  });
  const send = (fields: object = {}) => {
    const settings = { knowledge_base_ids: [knowledgeBase], search_type: 'keyword' };
    const tools = [{ type: 'file_search', file_search: settings }];
    return api.send('POST', '/v1/responses', { body: { ...body, tools, ...fields } });
  };
  const search = () => calls(['file_search', { query: 'Oslo' }]);
  const away = engineUnavailable('The model is away.', 1);

  it('the first: its status, and in a stream response.failed', async () => {
    playTurns(api.engine, away);
    assertError(await send(), 503, 'engine_unavailable');
    api.engine.play(async function* () {
      yield { type: 'prompt-end', promptTokens: 10, cachedTokens: 4 };
      yield* says('It is').slice(0, 1);
      throw away;
    });
    assertError(await send(), 503, 'engine_unavailable');
    const { type, response } = chunks((await send({ stream: true })).text).at(-1);
    assert.deepEqual([type, response.status], ['response.failed', 'failed']);
  });

  it('the second: a stored response that failed, with the usage of the first', async () => {
    // Fails before its prompt has been processed, and after it.
    for (const script of [() => Promise.reject(away), () => Promise.resolve()]) {
      playTurns(api.engine, search());
      api.engine.play(async function* () {
        if (api.engine.calls.length > 1) await script();
        yield { type: 'prompt-end', promptTokens: 10, cachedTokens: 4 };
        if (api.engine.calls.length > 1) throw away;
        yield* search();
        yield { type: 'usage', usage: { promptTokens: 10, cachedTokens: 4, completionTokens: 2 } };
      });
      const before = await api.db.sql.$count(usageRecords);
      const { status, json, text } = await send();
      assert.equal(status, 200, text);
      assertSchema(ResponseResource, json);
      assert.deepEqual([json.status, json.error.code], ['failed', 'engine_unavailable']);
      assert.equal(json.output[0].type, 'file_search_call');
      assert.equal(json.usage.output_tokens, 2);
      assert.deepEqual((await api.send('GET', `/v1/responses/${json.id}`)).json, json);
      assert.equal(await api.db.sql.$count(usageRecords), before + 2, 'each model call is metered');
      api.engine.calls.length = 0;
      const unstored = await send({ store: false });
      assert.equal(unstored.status, 200);
    }
  });
});

describe('an item that was cut', () => {
  const api = useApi();
  const CUT: Record<string, { turn: GenerationEvent[]; statuses: string[] }> = {
    'text by the token limit': { turn: says('It is', 'length'), statuses: ['message incomplete'] },
    'nothing by the token limit': { turn: says('', 'length'), statuses: ['message incomplete'] },
    'text by a content filter': {
      turn: [...says('It is').slice(0, -1), { type: 'choice-end', choice: 0, reason: 'content_filter' }],
      statuses: ['message incomplete'],
    },
    'reasoning by the token limit': { turn: thinks('Hm', says('', 'length')), statuses: ['reasoning incomplete'] },
    'text after reasoning': {
      turn: thinks('Hm', says('It', 'length')),
      statuses: ['reasoning completed', 'message incomplete'],
    },
    'arguments after a text': {
      turn: [
        ...says('Let me see.').slice(0, -1),
        { type: 'tool-call-delta', choice: 0, index: 0, id: 'c1', name: 'weather', arguments: '{"ci', tokens: 1 },
        { type: 'choice-end', choice: 0, reason: 'length' },
      ],
      statuses: ['message completed', 'function_call incomplete'],
    },
    'arguments by a content filter': {
      turn: [
        { type: 'tool-call-delta', choice: 0, index: 0, id: 'c1', name: 'weather', arguments: '{"city":"', tokens: 1 },
        { type: 'choice-end', choice: 0, reason: 'content_filter' },
      ],
      statuses: ['function_call incomplete'],
    },
    'text after a complete call': {
      turn: [...calls(['weather', { city: 'Oslo' }]).slice(0, -1), ...says('And', 'length')],
      statuses: ['message incomplete', 'function_call completed'],
    },
  };
  const statusesOf = (items: { type: string; status: string }[]) =>
    items.map(({ type, status }) => `${type} ${status}`);

  for (const [name, { turn, statuses }] of Object.entries(CUT)) {
    it(`is incomplete: ${name}`, async () => {
      playTurns(api.engine, turn);
      const fields = { ...body, tools: [weather] };
      const { json } = await api.send('POST', '/v1/responses', { body: fields });
      assert.deepEqual(statusesOf(json.output), statuses);
      assert.equal(json.completed_at, null);
      const reason = turn.at(-1)?.type === 'choice-end' && (turn.at(-1) as { reason: string }).reason;
      const expected = reason === 'length' ? 'max_output_tokens' : reason;
      assert.deepEqual([json.status, json.incomplete_details], ['incomplete', { reason: expected }]);
      const events = chunks((await api.send('POST', '/v1/responses', { body: { ...fields, stream: true } })).text);
      const done = events.filter(({ type }) => type === 'response.output_item.done');
      assert.deepEqual(statusesOf(done.map(({ item }) => item)), statuses);
      assert.deepEqual(statusesOf(events.at(-1).response.output), statuses);
    });
  }

  it('is completed in a response that ended by itself', async () => {
    playTurns(api.engine, thinks('Hm', says('It is.')));
    const { json } = await api.send('POST', '/v1/responses', { body });
    assert.deepEqual(statusesOf(json.output), ['reasoning completed', 'message completed']);
  });

  it('is incomplete when a guardrail policy has replaced it', async () => {
    const { key } = await api.makeKey({ organization: 'screened' });
    const policy = {
      name: 'p',
      apply_to: ['output'],
      topic_deny_list: [{ topic: 'falcon', action: 'block' }],
      thresholds: { harassment: 1, hate: 1, self_harm: 1, sexual: 1, violence: 1 },
    };
    await api.send('POST', '/v1/guardrail-policies', { key, body: policy });
    api.engine.play(() =>
      stream<GenerationEvent>([
        { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 },
        ...says('the falcon'),
        { type: 'usage', usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 2 } },
      ]),
    );
    const { json } = await api.send('POST', '/v1/responses', { key, body });
    assert.deepEqual(json.incomplete_details, { reason: 'content_filter' });
    assert.deepEqual(statusesOf(json.output), ['message incomplete']);
  });
});
