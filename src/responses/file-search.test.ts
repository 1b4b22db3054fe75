import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { MemorySource, makeSource } from '../../test/ingestion.ts';
import { calls, chatPromptOf, playTurns, says, thinks } from '../../test/response-turns.ts';
import type { RerankEngine } from '../engines/rerank-engine.ts';
import { engineUnavailable } from '../errors.ts';
import { ResponseResource } from './schema.ts';

const embedder = bundledEmbedder();
after(() => embedder.close());
/** Scores every text 0.9 that names a duck, and others 0.2. */
let reranked = 0;
const reranker: RerankEngine = {
  backend: () => ({ engine: 'local', model: 'ducks', parameters: null, ready: true }),
  rerank: async ({ documents }) => {
    reranked += 1;
    if (documents.some((text) => text.includes('storm'))) throw engineUnavailable('It is away.', 1);
    return { scores: documents.map((text) => (text.includes('duck') ? 0.9 : 0.2)), tokens: 1 };
  },
  check: async () => {},
  close: async () => {},
};
const api = useApi({
  models: (generation) =>
    (embeddedBy(embedder).models?.(generation) ?? []).map((model) =>
      model.id === 'reranker-v2-m3' ? { ...model, rerank: reranker } : model,
    ),
});
const LIBRARY = 'The library in Ashford opens at nine on Saturdays. It is closed on Sundays.';
const POOL = 'The pool of Ashford is heated to 27 degrees and opens at seven.';

describe('file_search in POST /v1/responses', () => {
  const bases: string[] = [];
  before(async () => {
    for (const texts of [{ library: LIBRARY, copy: POOL }, { pool: POOL }]) {
      const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Town' } });
      const source = new MemorySource();
      for (const [key, text] of Object.entries(texts)) source.items.set(key, text);
      const { queueJob, run } = await makeSource(api, json.id, source);
      await run(await queueJob());
      bases.push(json.id);
    }
  });
  const tool = (settings: object = {}) => ({
    type: 'file_search',
    file_search: { knowledge_base_ids: bases, ...settings },
  });
  const ask = (fields: object = {}, settings: object = {}) =>
    api.send('POST', '/v1/responses', {
      body: { model: 'general-8b', input: 'When is the library open?', tools: [tool(settings)], ...fields },
    });

  it('searches all knowledge bases, and cites exact spans of the answer', async () => {
    const query = 'opening hours library pool Ashford';
    const answer = 'Hello. The library in Ashford opens at nine on Saturdays.';
    playTurns(api.engine, calls(['file_search', { query }]), says(answer));
    const { json } = await ask();
    assertSchema(ResponseResource, json);
    const [search, message] = json.output;
    assert.match(search.id, /^fs_/);
    assert.deepEqual([search.type, search.status, search.queries], ['file_search_call', 'completed', [query]]);
    const texts = search.results.map(({ text }: { text: string }) => text);
    assert.deepEqual(texts.toSorted(), [LIBRARY, POOL].toSorted(), 'duplicates are merged');
    const scores = search.results.map(({ score }: { score: number }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((a: number, b: number) => b - a),
    );
    const [{ text, annotations }] = message.content;
    assert.equal(annotations.length, 1);
    assert.equal(text.slice(annotations[0].start_index, annotations[0].end_index), answer.slice('Hello. '.length));
    assert.equal(annotations[0].document_id, search.results[texts.indexOf(LIBRARY)].document_id);
    assert.deepEqual([json.turn_count, json.tool_call_count], [2, 1]);
    assert.deepEqual([json.usage.input_tokens, json.usage.total_tokens], [20, 32]);
    assert.equal(json.usage.input_tokens_details.cached_tokens, 8);
    const shown = chatPromptOf(api.engine.calls[1]!).messages.at(-1)!;
    assert.deepEqual([shown.role, shown.tool_call_id], ['tool', search.id]);
    assert.ok(shown.content?.includes(LIBRARY));
  });

  it('honours max_results, search_type and score_threshold', async () => {
    const found = async (settings: object) => {
      playTurns(api.engine, calls(['file_search', { query: 'library pool Ashford' }]), says('Yes.'));
      const { json } = await ask({}, settings);
      return json.output[0].results as { text: string; score: number }[];
    };
    assert.equal((await found({ max_results: 1 })).length, 1);
    assert.equal((await found({ score_threshold: 1 })).length, 0);
    const [semantic, vector, keyword] = [
      await found({ search_type: 'semantic' }),
      await found({ search_type: 'vector' }),
      await found({ search_type: 'keyword' }),
    ];
    assert.deepEqual(semantic, vector);
    assert.notEqual(keyword[0]?.score, vector[0]?.score);
    const threshold = vector[0]!.score - 0.001;
    assert.ok(
      (await found({ search_type: 'vector', score_threshold: threshold })).every(({ score }) => score >= threshold),
    );
  });

  it('a model that repeats a search is told to answer, and the search runs once', async () => {
    const same = calls(['file_search', { query: 'library' }]);
    playTurns(api.engine, same, same, says('It is open.'));
    const { json } = await ask();
    assert.deepEqual([json.status, json.turn_count], ['completed', 3]);
    assert.deepEqual(json.output[1].results, json.output[0].results);
    assert.equal(chatPromptOf(api.engine.calls[2]!).toolChoice, 'none');
    playTurns(api.engine, same);
    const stubborn = (await ask()).json;
    assert.deepEqual([stubborn.status, stubborn.turn_count], ['incomplete', 3]);
    assert.deepEqual(stubborn.incomplete_details, { reason: 'repeated_search' });
  });

  it('ends as incomplete at max_turns', async () => {
    playTurns(api.engine, calls(['file_search', { query: 'library' }]));
    const { json } = await ask({ max_turns: 1 });
    assert.deepEqual([json.status, json.incomplete_details.reason, json.turn_count], ['incomplete', 'max_turns', 1]);
    assert.equal(json.output[0].status, 'completed');
  });

  it('runs the searches of a turn with functions, and ends with the function calls', async () => {
    const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } };
    const turn = calls(['weather', {}], ['file_search', { query: 'library' }], ['weather', { a: 1 }]);
    playTurns(api.engine, turn, says('Done.'));
    const answer = await ask({ tools: [weather, tool()], stream: true });
    const { response } = chunks(answer.text).at(-1);
    const types = response.output.map(({ type }: { type: string }) => type);
    assert.deepEqual(types, ['function_call', 'file_search_call', 'function_call']);
    assert.ok(response.output[1].results.length > 0);
    assert.deepEqual([response.status, response.tool_call_count], ['completed', 3]);
    const outputs = response.output
      .filter(({ type }: { type: string }) => type === 'function_call')
      .map(({ call_id }: { call_id: string }) => ({ type: 'function_call_output', call_id, output: '3' }));
    const next = await ask({ tools: [weather, tool()], previous_response_id: response.id, input: outputs });
    assert.equal(next.json.output[0].content[0].text, 'Done.');
    const full = [{ role: 'user', content: 'When is the library open?' }, ...response.output, ...outputs];
    assert.equal((await ask({ tools: [weather, tool()], input: full })).status, 200);
    assert.deepEqual(chatPromptOf(api.engine.calls[2]!).messages, chatPromptOf(api.engine.calls[1]!).messages);
  });

  it('makes a small model search for the question first', async () => {
    playTurns(api.engine, calls(['file_search', { query: 'x' }]), says('Nine.'));
    api.engine.backend = () => ({ engine: 'bundled', model: 'small', parameters: 4_000_000, ready: true });
    await ask();
    const prompt = chatPromptOf(api.engine.calls[0]!);
    assert.deepEqual(prompt.toolChoice, { name: 'file_search' });
    const { properties } = prompt.tools[0]!.function.parameters as { properties: { query: { enum: string[] } } };
    assert.deepEqual(properties.query.enum, ['When is the library open?']);
    assert.equal(chatPromptOf(api.engine.calls[1]!).toolChoice, 'none');
    // After the result of a function, it answers.
    const call = { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'call_1', output: '3' };
    api.engine.calls.length = 0;
    await ask({ input: [{ role: 'user', content: 'Warm?' }, call, output] });
    assert.equal(chatPromptOf(api.engine.calls[0]!).toolChoice, 'auto');
    // Arguments that some clients leave empty parse nevertheless.
    api.engine.calls.length = 0;
    await ask({ input: [{ role: 'user', content: 'Warm?' }, { ...call, arguments: '' }, output] });
    const sent = chatPromptOf(api.engine.calls[0]!).messages.flatMap(({ tool_calls }) => tool_calls ?? []);
    assert.deepEqual(
      sent.map(({ function: { arguments: text } }) => text),
      ['{}'],
    );
  });

  it('gives a model that selects from documents the prompt of a grounded chat, also in later turns', async () => {
    const { features } = api.engine;
    api.engine.features = () => ({ ...features(), documentMode: () => 'selective' });
    const content = 'When is the library in Ashford open on Saturdays?';
    const grounded = { model: 'general-8b', knowledge_bases: bases, messages: [] as object[] };
    let previous: string | undefined;
    for (const question of [content, 'How warm is the pool of Ashford in winter?']) {
      playTurns(api.engine, calls(['file_search', { query: question }]), says('At nine.'));
      api.engine.backend = () => ({ engine: 'bundled', model: 'small', parameters: 4_000_000, ready: true });
      const { json } = await ask({ input: question, ...(previous && { previous_response_id: previous }) });
      previous = json.id;
      const [search, answer] = api.engine.calls.map(chatPromptOf);
      assert.deepEqual(search?.messages, [{ role: 'user', content: question }]);
      playTurns(api.engine, says('At nine.'));
      grounded.messages.push({ role: 'user', content: question });
      assert.equal((await api.send('POST', '/v1/chat/completions', { body: grounded })).status, 200);
      const expected = chatPromptOf(api.engine.calls[0]!);
      assert.deepEqual(answer?.messages, expected.messages);
      assert.deepEqual(answer?.documents, expected.documents);
      assert.equal(answer?.documents?.length, 2);
      grounded.messages.push({ role: 'assistant', content: 'At nine.' });
    }
    api.engine.features = features;
  });

  it('an error after the first turn ends the response as failed, with the work done', async () => {
    playTurns(api.engine, calls(['file_search', { query: 'library' }]), engineUnavailable('It is away.', 1));
    const { status, json } = await ask();
    assert.equal(status, 200);
    assert.deepEqual([json.status, json.error.code, json.output.length], ['failed', 'engine_unavailable', 1]);
    assert.deepEqual((await api.send('GET', `/v1/responses/${json.id}`)).json, json);
  });

  it('404 for unknown and foreign knowledge bases, 403 without the scope, 400 for settings out of range', async () => {
    const path = 'tools.0.file_search';
    const unknown = { knowledge_base_ids: [bases[0], 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3'] };
    assertError(await ask({}, unknown), 404, 'knowledge_base_not_found', `${path}.knowledge_base_ids.1`);
    const body = { model: 'general-8b', input: 'x', tools: [tool()] };
    const foreign = await api.makeKey({ organization: 'other' });
    const answer = await api.send('POST', '/v1/responses', { body, key: foreign.key });
    assertError(answer, 404, 'knowledge_base_not_found', `${path}.knowledge_base_ids.0`);
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(
      await api.send('POST', '/v1/responses', { body, key }),
      403,
      'insufficient_scope',
      `${path}.knowledge_base_ids`,
    );
    const wrong = {
      max_results: [0, 51],
      score_threshold: [-0.1, 1.1],
      search_type: ['exact'],
      knowledge_base_ids: [[]],
    };
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        assertError(await ask({}, { [field]: value }), 400, 'invalid_value', `${path}.${field}`);
      }
    }
    const reranked = await ask({}, { rerank: true, rerank_model: 'no-such' });
    assertError(reranked, 404, 'model_not_found', `${path}.rerank_model`);
    assertError(await ask({ tools: [tool(), tool()] }), 400, 'invalid_value', 'tools.1');
  });
});

describe('file_search with rerank', () => {
  const bases: string[] = [];
  const LAKE = 'The lake is long and deep. A duck swims on the lake.';
  const SHORE = 'The shore of the lake: lake, lake and lake.';
  /** Twelve texts of some 300 tokens. */
  const long = Array.from({ length: 12 }, (_, n): [string, string] => [
    `long${n}`,
    `Lake ${n} has a duck. ${`The water of lake ${n} is calm. `.repeat(40)}`,
  ]);
  before(async () => {
    for (const texts of [
      { shore: SHORE, lake: LAKE },
      { copy: LAKE, hill: 'The hill above the lake is bare.' },
      Object.fromEntries(long),
    ]) {
      const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Lakes' } });
      const source = new MemorySource();
      for (const [key, text] of Object.entries(texts)) source.items.set(key, text);
      const { queueJob, run } = await makeSource(api, json.id, source);
      await run(await queueJob());
      bases.push(json.id);
    }
  });
  const find = async (settings: object, ids = bases.slice(0, 2), fields: object = {}) => {
    playTurns(api.engine, calls(['file_search', { query: 'lake' }]), says('Yes.'));
    const tools = [
      { type: 'file_search', file_search: { knowledge_base_ids: ids, search_type: 'keyword', ...settings } },
    ];
    const { json } = await api.send('POST', '/v1/responses', {
      body: { model: 'general-8b', input: 'What is on the lake?', tools, ...fields },
    });
    return json.output[0].results as { text: string; score: number; kb_id: string }[];
  };

  it('orders the results of all knowledge bases by the scores of the reranker, without duplicates', async () => {
    const plain = await find({});
    assert.equal(plain[0]?.text, SHORE);
    const reranked = await find({ rerank: true });
    assert.deepEqual(
      reranked.map(({ text, score }) => [text, score]),
      [
        [LAKE, 0.9],
        [SHORE, 0.2],
        ['The hill above the lake is bare.', 0.2],
      ],
    );
    assert.equal(new Set(reranked.map(({ kb_id }) => kb_id)).size, 2);
    assert.deepEqual(await find({ rerank: true, rerank_model: 'reranker-v2-m3' }), reranked);
  });

  it('applies the threshold and max_results to the new scores', async () => {
    // The search alone scores the shore above, and the duck below, this threshold.
    const [shore, lake] = await find({});
    const threshold = ((shore?.score ?? 0) + (lake?.score ?? 0)) / 2;
    assert.deepEqual(
      (await find({ score_threshold: threshold })).map(({ text }) => text),
      [SHORE],
    );
    assert.deepEqual(
      (await find({ rerank: true, score_threshold: Math.max(threshold, 0.3) })).map(({ text }) => text),
      [LAKE],
    );
    assert.deepEqual(
      (await find({ rerank: true, max_results: 1 })).map(({ text }) => text),
      [LAKE],
    );
    assert.equal((await find({ rerank: true, max_results: 2 })).length, 2, 'over all knowledge bases');
  });

  it('cuts the best results to the tokens that the prompt has room for', async () => {
    const lengthOf = (results: { text: string }[]) => results.map(({ text }) => text).join('').length;
    const all = await find({ rerank: true, max_results: 50 }, bases);
    // Leaves about a thousand of 4,096 tokens for documents and answer.
    const instructions = 'word '.repeat(2_000);
    const few = await find({ rerank: true, max_results: 50 }, bases, { instructions });
    assert.ok(lengthOf(few) > 0 && lengthOf(few) < lengthOf(all) / 2, `${lengthOf(few)} of ${lengthOf(all)}`);
    assert.ok(
      few.every(({ text }) => text.includes('duck')),
      'the best results stay',
    );
  });

  it('shares the room of the prompt among the searches of a turn', async () => {
    const instructions = 'word '.repeat(2_000);
    const lengths = async (...queries: string[]) => {
      playTurns(
        api.engine,
        calls(...queries.map((query): [string, object] => ['file_search', { query }])),
        says('Yes.'),
      );
      const file_search = { knowledge_base_ids: bases, search_type: 'keyword', rerank: true, max_results: 50 };
      const body = { model: 'general-8b', input: 'What?', tools: [{ type: 'file_search', file_search }], instructions };
      const { json } = await api.send('POST', '/v1/responses', { body });
      const searches = json.output.filter(({ type }: { type: string }) => type === 'file_search_call');
      return searches.map(
        ({ results }: { results: { text: string }[] }) => results.map(({ text }) => text).join('').length,
      );
    };
    const [alone] = await lengths('lake');
    const shared = await lengths('lake', 'duck lake', 'duck');
    assert.equal(shared.length, 3);
    assert.ok(Math.max(...shared) <= alone / 2, `${alone}: ${shared}`);
  });

  it('makes a repeated search once, and at most 16 searches in a turn', async () => {
    const same = calls(['file_search', { query: 'Lake ' }]);
    const file_search = { knowledge_base_ids: bases.slice(0, 1), search_type: 'keyword', rerank: true };
    const body = { model: 'general-8b', input: 'What?', tools: [{ type: 'file_search', file_search }] };
    playTurns(api.engine, thinks('Hm.', calls(['file_search', { query: 'lake' }])), same, thinks('Hm.', says('Yes.')));
    reranked = 0;
    const repeated = await api.send('POST', '/v1/responses', { body });
    assert.equal(reranked, 1);
    assert.equal(repeated.json.usage.output_tokens_details.reasoning_tokens, 4);
    const many = Array.from({ length: 17 }, (_, n): [string, object] => ['file_search', { query: `lake ${n}` }]);
    playTurns(api.engine, calls(...many), says('Yes.'));
    const { json } = await api.send('POST', '/v1/responses', { body });
    const statuses = json.output.slice(0, 17).map(({ status }: { status: string }) => status);
    assert.deepEqual(statuses, [...Array(16).fill('completed'), 'incomplete']);
    assert.equal(json.status, 'completed');
  });

  it('403 before the first model call for a key that may not use the reranker', async () => {
    const { key } = await api.makeKey({ models: ['general-8b', 'embed-large-en-v1.5'] });
    playTurns(api.engine, says('Yes.'));
    const file_search = { knowledge_base_ids: bases, rerank: true };
    const body = { model: 'general-8b', input: 'What?', tools: [{ type: 'file_search', file_search }] };
    const answer = await api.send('POST', '/v1/responses', { body, key });
    assertError(answer, 403, 'insufficient_scope', 'tools.0.file_search.rerank_model');
    assert.equal(api.engine.calls.length, 0);
  });

  it('goes on without results while the reranker is away', async () => {
    const { json: base } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Storms' } });
    const source = new MemorySource();
    source.items.set('storm', 'A storm on the lake.');
    const { queueJob, run } = await makeSource(api, base.id, source);
    await run(await queueJob());
    playTurns(api.engine, calls(['file_search', { query: 'storm' }]), says('I do not know.'));
    const file_search = { knowledge_base_ids: [base.id], search_type: 'keyword', rerank: true };
    const body = { model: 'general-8b', input: 'What?', tools: [{ type: 'file_search', file_search }] };
    const { json } = await api.send('POST', '/v1/responses', { body });
    assert.deepEqual([json.status, json.output[0].status, json.output[0].results], ['completed', 'incomplete', []]);
  });
});
