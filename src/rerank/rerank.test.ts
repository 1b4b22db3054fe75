import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeEngineFailures, failingBackend } from '../../test/failing-engine.ts';
import { assertError, assertSchema, bindCatalogue, type TestApiOptions, useApi } from '../../test/harness.ts';
import { usageRecords } from '../billing/tables.ts';
import type { RerankEngine } from '../engines/rerank-engine.ts';
import { RerankResponse } from './schema.ts';

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

/** The catalogue with `engine` bound to `reranker-v2-m3`. */
function rerankedBy(engine: Partial<RerankEngine>): TestApiOptions {
  const rerank: RerankEngine = {
    backend: () => ({ engine: 'bundled', model: 'scripted', parameters: null, ready: true }),
    rerank: async () => ({ scores: [], tokens: 0 }),
    check: async () => {},
    close: async () => {},
    ...engine,
  };
  return {
    models: (generation) =>
      bindCatalogue(generation).map((model) => (model.id === 'reranker-v2-m3' ? { ...model, rerank } : model)),
  };
}

describe('POST /v1/rerank', () => {
  // Scores a document by its leading number; each document counts as one token.
  const api = useApi(
    rerankedBy({
      rerank: async ({ documents }) => ({
        scores: documents.map((document) => Number.parseFloat(document) || 0),
        tokens: documents.length,
      }),
    }),
  );
  const rank = (body: object | string, key = api.key) => {
    const whole =
      typeof body === 'string' ? body : { model: 'reranker-v2-m3', query: 'q', documents: ['0.5'], ...body };
    return api.send('POST', '/v1/rerank', { body: whole, key });
  };
  const lastUsage = async () => (await api.db.sql.select().from(usageRecords)).toSorted(byId).at(-1);
  type Result = { index: number; relevance_score: number; document?: { text: string } };
  const resultOrder = (json: { results: Result[] }) => json.results.map(({ index }) => index);

  it('200 with every document, the best first, in the form of the schema and no other field', async () => {
    const { status, json } = await rank({ documents: ['0.1 a', { text: '0.9 b' }, '0.5 c'] });
    assert.equal(status, 200);
    assertSchema(RerankResponse, json);
    assert.deepEqual(json, {
      object: 'list',
      results: [
        { index: 1, relevance_score: 0.9, document: { text: '0.9 b' } },
        { index: 2, relevance_score: 0.5, document: { text: '0.5 c' } },
        { index: 0, relevance_score: 0.1, document: { text: '0.1 a' } },
      ],
      model: 'reranker-v2-m3',
      usage: { total_tokens: 3 },
      meta: { billed_units: { total_tokens: 3 }, tokens: { input_tokens: 3, output_tokens: 0 } },
    });
  });

  it('200 with documents of equal scores in request order', async () => {
    const documents = ['0.5', '0.7', '0.5', '0', '0.7', '0', '0.5'];
    assert.deepEqual(resultOrder((await rank({ documents })).json), [1, 4, 0, 2, 6, 3, 5]);
  });

  it('200 with equal documents each under its own index', async () => {
    assert.deepEqual(resultOrder((await rank({ documents: ['0.5', '0.5', '0.5'], top_n: 2 })).json), [0, 1]);
  });

  it('200 with the best top_n; all where it is null or larger', async () => {
    const documents = ['0.1', '0.9', '0.5'];
    for (const [top_n, expected] of [
      [1, [1]],
      [2, [1, 2]],
      [3, [1, 2, 0]],
      [5000, [1, 2, 0]],
      [null, [1, 2, 0]],
    ]) {
      assert.deepEqual(resultOrder((await rank({ documents, top_n })).json), expected);
    }
  });

  it('200 without texts when return_documents is false, with texts when null or true', async () => {
    const without = await rank({ return_documents: false });
    assertSchema(RerankResponse, without.json);
    assert.deepEqual(without.json.results, [{ index: 0, relevance_score: 0.5 }]);
    for (const value of [true, null]) {
      const { json } = await rank({ return_documents: value });
      assert.deepEqual(json.results[0].document, { text: '0.5' });
    }
  });

  it('200 for 1,000 documents, for one of a megabyte, for one without text, and with unknown fields', async () => {
    const many = await rank({ documents: Array(1000).fill('0.5') });
    assert.equal(many.json.results.length, 1000);
    const odd = await rank({
      documents: ['x'.repeat(1_000_000), '', { text: ' ', title: 'x' }],
      user: 'x',
      rank_fields: [],
    });
    assert.equal(odd.status, 200);
    assert.equal(odd.json.results[0].document.text.length, 1_000_000);
  });

  it('records usage once', async () => {
    const before = await api.db.sql.$count(usageRecords);
    await rank({ documents: ['0.5', '0.6'] });
    assert.equal(await api.db.sql.$count(usageRecords), before + 1);
    const { model, endpoint, promptTokens, completionTokens, outcome } = (await lastUsage())!;
    assert.deepEqual(
      { model, endpoint, promptTokens, completionTokens, outcome },
      { model: 'reranker-v2-m3', endpoint: '/v1/rerank', promptTokens: 2, completionTokens: 0, outcome: 'completed' },
    );
    const { text } = await api.send('GET', '/metrics');
    assert.match(text, /quire_reranks_total\{model="reranker-v2-m3",outcome="completed"\} \d/);
    assert.match(text, /quire_reranks_in_flight 0/);
  });

  it('400 for documents that are absent, empty, too many, of another type, or without text', async () => {
    assertError(await rank({ documents: undefined }), 400, 'missing_required_field', 'documents');
    for (const documents of [[], Array(1001).fill('a'), 'a', null, {}, 5]) {
      assertError(await rank({ documents }), 400, 'invalid_value', 'documents');
    }
    for (const wrong of [5, null, ['a'], true]) {
      assertError(await rank({ documents: ['a', 'b', 'c', wrong] }), 400, 'invalid_value', 'documents.3');
    }
    assertError(await rank({ documents: ['a', 'b', 'c', {}] }), 400, 'missing_required_field', 'documents.3.text');
    for (const text of [5, null, ['a']]) {
      assertError(await rank({ documents: ['a', 'b', 'c', { text }] }), 400, 'invalid_value', 'documents.3.text');
    }
  });

  it('400 for a query that is absent, blank or of another type', async () => {
    assertError(await rank({ query: undefined }), 400, 'missing_required_field', 'query');
    for (const query of ['', ' \n\t', 5, null, ['a'], {}]) {
      assertError(await rank({ query }), 400, 'invalid_value', 'query');
    }
  });

  it('400 for a model, top_n or return_documents of another type, and a body that is no JSON', async () => {
    assertError(await rank({ model: undefined }), 400, 'missing_required_field', 'model');
    assertError(await rank({ model: 5 }), 400, 'invalid_value', 'model');
    for (const top_n of [0, -1, 1.5, '2', true]) assertError(await rank({ top_n }), 400, 'invalid_value', 'top_n');
    for (const value of ['true', 1, 0]) {
      assertError(await rank({ return_documents: value }), 400, 'invalid_value', 'return_documents');
    }
    assertError(await rank('{"query": '), 400, 'invalid_json');
  });

  it('names the violated limit of the list, and the accepted types of a document', async () => {
    const many = await rank({ documents: Array(1001).fill('a') });
    assert.match(many.json.error.message, /more than 1000 items/);
    assert.match((await rank({ documents: [5] })).json.error.message, /must be string or object/);
  });

  it('404 model_not_found for a model that is unknown or does something else', async () => {
    for (const model of ['gpt-99', 'general-8b', 'embed-large-en-v1.5', 'moderation-v1', '']) {
      assertError(await rank({ model }), 404, 'model_not_found', 'model');
    }
  });

  it('401 without a key; 403 without the scope inference, and where the key is limited to other models', async () => {
    const keyless = await api.send('POST', '/v1/rerank', { body: {}, key: null });
    assertError(keyless, 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['files', 'knowledge', 'guardrails', 'admin'] });
    assertError(await rank({}, key), 403, 'insufficient_scope');
    const limited = await api.makeKey({ models: ['general-8b'] });
    assertError(await rank({}, limited.key), 403, 'insufficient_scope', 'model');
    const allowed = await api.makeKey({ models: ['reranker-v2-m3'] });
    assert.equal((await rank({}, allowed.key)).status, 200);
  });

  it('lists the model with its backend', async () => {
    const { json } = await api.send('GET', '/v1/models/reranker-v2-m3');
    assert.deepEqual(json.backend, { engine: 'bundled', model: 'scripted', parameters: null, ready: true });
  });
});

describeEngineFailures({
  path: '/v1/rerank',
  model: 'reranker-v2-m3',
  body: { query: 'q', documents: ['a'] },
  engine: (run) => ({ rerank: { ...failingBackend, rerank: (_request, signal) => run(signal) } }),
});
