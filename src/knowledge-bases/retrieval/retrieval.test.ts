import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eq, inArray } from 'drizzle-orm';
import { withDeadline } from '../../../test/deadline.ts';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import type { RerankEngine } from '../../engines/rerank-engine.ts';
import { serviceCaller } from '../../lib/caller.ts';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import { chunks, documents } from '../documents/tables.ts';
import { knowledgeBases } from '../tables.ts';
import { RETRIEVAL_DEFAULTS, retrieve as retrieveChunks } from './retrieve.ts';
import { RetrieveResponse } from './schema.ts';

/** Scores longer texts higher. */
const reranker: RerankEngine = {
  backend: () => ({ engine: 'local', model: 'longer', parameters: null, ready: true }),
  rerank: async ({ documents: texts }) => ({ scores: texts.map((text) => text.length / 1000), tokens: 1 }),
  check: async () => {},
  close: async () => {},
};

const engine = bundledEmbedder();
after(() => engine.close());
const withEmbedder = embeddedBy(engine).models;
const api = useApi({
  limitClock: () => 0,
  models: (generation) =>
    (withEmbedder?.(generation) ?? []).map((model) =>
      model.id === 'reranker-v2-m3' ? { ...model, rerank: reranker } : model,
    ),
});

describe('POST /v1/knowledge-bases/{kb_id}/retrieve', () => {
  let base: string;
  before(async () => {
    base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } })).json.id;
    const source = new MemorySource();
    source.items.set('short', 'Granite is a stone.');
    source.items.set('long', 'A stone is a stone, and this sentence goes on about a stone for a while.');
    source.items.set('fish', 'Salmon swim in rivers.');
    source.items.set('code', 'Error E-4711 stops the pump.');
    const { queueJob, run } = await makeSource(api, base, source);
    await run(await queueJob());
  });

  const retrieve = (body: object | string, key: string | null = api.key, id = base) =>
    api.send('POST', `/v1/knowledge-bases/${id}/retrieve`, { body, key });
  const namesOf = async (body: object) =>
    (await retrieve(body)).json.results.map(({ document_name }: { document_name: string }) => document_name);

  it('returns the best chunks with text, score, document and metadata', async () => {
    const { status, json } = await retrieve({ query: 'salmon' });
    assert.equal(status, 200);
    assertSchema(RetrieveResponse, json);
    assert.deepEqual([json.query, json.search_type, json.knowledge_base_id], ['salmon', 'hybrid', base]);
    const [first] = json.results;
    assert.deepEqual([first.text, first.document_name], ['Salmon swim in rivers.', 'fish.txt']);
    assert.equal(first.metadata.origin, 'fish');
    const scores = json.results.map(({ score }: { score: number }) => score);
    assert.deepEqual(
      scores,
      scores.toSorted((a: number, b: number) => b - a),
    );
    assert.ok(scores.every((score: number) => score >= 0 && score <= 1));
  });

  it('counts the tokens of the query and of the reranked texts in the token limits', async () => {
    const limits = { requestsPerMinute: null, tokensPerMinute: 100_000, concurrent: null };
    const { id, key } = await api.makeKey({ limits });
    const answer = await retrieve({ query: 'salmon', rerank: true }, key);
    assert.equal(answer.status, 200);
    const { rows } = await api.db.execute(
      'select sum(prompt_tokens + completion_tokens)::int as tokens, count(*)::int as calls from usage_records where key_id = $1',
      [id],
    );
    const { tokens, calls } = rows[0] as { tokens: number; calls: number };
    assert.equal(calls, 2);
    assert.equal(answer.headers.get('x-ratelimit-remaining-tokens'), String(100_000 - tokens));
    const { key: poor } = await api.makeKey({ limits: { ...limits, tokensPerMinute: 1 } });
    assertError(await retrieve({ query: 'salmon' }, poor), 429, 'rate_limit_exceeded');
  });

  it('keyword search requires a common word, vector search does not', async () => {
    assert.deepEqual(await namesOf({ query: 'E-4711', search_type: 'keyword' }), ['code.txt']);
    assert.deepEqual(await namesOf({ query: 'nothing of it', search_type: 'keyword' }), []);
    assert.equal((await namesOf({ query: 'rocks', search_type: 'vector' })).length, 4);
    const query = { query: 'rocks and stones' };
    assert.deepEqual(
      (await retrieve({ ...query, search_type: 'semantic' })).json.results,
      (await retrieve({ ...query, search_type: 'vector' })).json.results,
    );
  });

  it('gives a chunk the same hybrid score whichever search found it', async () => {
    const all = (await retrieve({ query: 'stone rivers', top_k: 4 })).json.results;
    const one = (await retrieve({ query: 'stone rivers', filters: { document_name: 'fish.txt' } })).json.results;
    const same = all.find(({ document_name }: { document_name: string }) => document_name === 'fish.txt');
    assert.ok(Math.abs(same.score - one[0].score) < 1e-6);
  });

  it('applies top_k, min_score and filters', async () => {
    assert.equal((await namesOf({ query: 'stone', top_k: 1 })).length, 1);
    assert.equal((await namesOf({ query: 'stone', top_k: 100, min_score: 0 })).length, 4);
    assert.deepEqual(await namesOf({ query: 'stone', min_score: 1 }), []);
    assert.deepEqual(await namesOf({ query: 'stone', filters: { metadata: { origin: { $in: ['short', 'fish'] } } } }), [
      'short.txt',
      'fish.txt',
    ]);
    assert.deepEqual(
      await namesOf({ query: 'stone', search_type: 'keyword', filters: { metadata: { words: { $gt: 4 } } } }),
      ['long.txt'],
    );
  });

  it('$or finds the chunks of each group, and $ne in one group does not affect the other', async () => {
    const filters = {
      $or: [{ document_name: 'fish.txt' }, { metadata: { words: { $gt: 4 }, origin: { $ne: 'code' } } }],
    };
    assert.deepEqual((await namesOf({ query: 'stone', filters })).toSorted(), ['fish.txt', 'long.txt']);
  });

  it('filters by metadata and names of any characters, and finds exactly the documents that match', async () => {
    const { id } = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Awkward' } })).json;
    const source = new MemorySource();
    for (const text of AWKWARD_TEXTS) {
      source.items.set(text, 'Granite is a stone.');
      source.metadata.set(text, { label: text, [`key ${text}`]: 'set' });
    }
    const { queueJob, run } = await makeSource(api, id, source);
    await run(await queueJob());
    const find = async (filters: object) => {
      const answer = await retrieve({ query: 'granite', top_k: 100, search_type: 'keyword', filters }, api.key, id);
      assert.equal(answer.status, 200, answer.text);
      return answer.json.results.map(({ metadata }: { metadata: { label: string } }) => metadata.label).toSorted();
    };
    // Metadata of documents is stored as one line.
    const labels = AWKWARD_TEXTS.map((text) => collapseWhitespace(text)).toSorted();
    for (const text of AWKWARD_TEXTS) {
      const label = collapseWhitespace(text);
      const others = labels.filter((other) => other !== label);
      assert.deepEqual(await find({ document_name: `${text}.txt` }), [label]);
      assert.deepEqual(await find({ metadata: { label } }), [label]);
      assert.deepEqual(await find({ metadata: { label: { $in: [label, 'another'] } } }), [label]);
      assert.deepEqual(await find({ metadata: { label: { $ne: label } } }), others);
      assert.deepEqual(await find({ metadata: { [`key ${label}`]: 'set' } }), [label]);
      assert.deepEqual(await find({ metadata: { [`key ${label}`]: { $ne: 'set' } } }), others);
    }
  });

  it('returns the components of scores with include_scores', async () => {
    const scoresOf = async (body: object) => (await retrieve({ query: 'stone', include_scores: true, ...body })).json;
    const hybrid = await scoresOf({});
    assertSchema(RetrieveResponse, hybrid);
    for (const { score, scores } of hybrid.results) {
      assert.deepEqual([scores.fused, scores.rerank], [score, null]);
      assert.ok(scores.fused >= Math.min(scores.vector, scores.keyword) - 1e-9);
      assert.ok(scores.fused <= Math.max(scores.vector, scores.keyword) + 1e-9);
    }
    const [{ score, scores }] = (await scoresOf({ search_type: 'keyword' })).results;
    assert.deepEqual([scores.vector, scores.keyword], [null, score]);
    const [reranked] = (await scoresOf({ search_type: 'vector', rerank: true })).results;
    assert.equal(reranked.scores.keyword, null);
    assert.equal(reranked.scores.vector, reranked.scores.fused);
    assert.equal(reranked.scores.rerank, reranked.text.length / 1000);
    assert.ok(!('scores' in (await retrieve({ query: 'stone' })).json.results[0]));
  });

  it('omits metadata with include_metadata false', async () => {
    const { json } = await retrieve({ query: 'stone', include_metadata: false });
    assert.ok(json.results.every((result: object) => !('metadata' in result)));
  });

  it('reranks results and applies min_score to the new scores', async () => {
    const names = await namesOf({ query: 'stone', search_type: 'keyword', rerank: true });
    assert.deepEqual(names, ['long.txt', 'short.txt']);
    assert.deepEqual(await namesOf({ query: 'stone', search_type: 'keyword', rerank: true, min_score: 0.05 }), [
      'long.txt',
    ]);
    assert.deepEqual(await namesOf({ query: 'stone', search_type: 'keyword', rerank: true, top_k: 1 }), ['long.txt']);
  });

  it('compares the best passages in a hybrid search; when the model is busy, the order of the search stays', async (t) => {
    const [row] = await api.db.sql.select().from(knowledgeBases).where(eq(knowledgeBases.id, base));
    assert.ok(row);
    const caller = serviceCaller(row.organizationId, 'key_1');
    const call = { caller, requestId: 'req_1', endpoint: '/', priority: 'interactive' as const };
    const deps = { ...api.deps };
    const search = async (params: object) => {
      const signal = new AbortController().signal;
      const asked = { ...RETRIEVAL_DEFAULTS, query: 'stone', matchPassages: true, signal, ...params };
      return (await retrieveChunks(deps, call, row, asked)).map((chunk) => [chunk.documentName, chunk.score]);
    };
    const plain = await search({ matchPassages: false });
    assert.notEqual(plain[0]?.[0], 'code.txt');
    const match = t.mock.method(
      engine as Required<typeof engine>,
      'matchPassages',
      async (_query: string, texts: readonly string[]) => texts.map((text) => (text.includes('E-4711') ? 1 : 0)),
    );
    const [[name, score] = []] = await search({ top_k: 1 });
    assert.deepEqual([name, score], ['code.txt', plain[0]?.[1]], 'the highest score, with the best passage');
    assert.equal(match.mock.calls[0]?.arguments[1].length, 4, 'of a search for one chunk');
    assert.deepEqual(match.mock.calls[0]?.arguments.at(-1), row.organizationId);
    for (const other of [{ search_type: 'keyword' }, { search_type: 'vector' }, { rerank: true }]) await search(other);
    assert.equal(match.mock.callCount(), 1, 'only of hybrid searches without reranking');
    match.mock.mockImplementation(async () => Promise.reject(new Error('the queue is full')));
    assert.deepEqual(await search({ top_k: 3 }), plain.slice(0, 3));
    const leaving = new AbortController();
    match.mock.mockImplementation(async () => {
      leaving.abort(new Error('left'));
      throw leaving.signal.reason;
    });
    await assert.rejects(search({ signal: leaving.signal }), /left/);
    const ofBase = eq(documents.knowledgeBaseId, base);
    const stored = await api.db.sql.select({ language: documents.language }).from(documents).where(ofBase);
    await api.db.sql.update(documents).set({ language: 'de' }).where(ofBase);
    deps.now = () => Date.now() + 60_000;
    const before = match.mock.callCount();
    await search({});
    assert.equal(match.mock.callCount(), before, 'only in English documents');
    await api.db.sql
      .update(documents)
      .set({ language: stored[0]?.language ?? '' })
      .where(ofBase);
    deps.now = () => Date.now() + 120_000;
    await search({});
  });

  it('fetches at least 100 candidates for hybrid search and reranking, otherwise twice top_k', async (t) => {
    const search = t.mock.method(api.deps.chunks, 'search');
    const looksAt = async (body: object) => {
      await namesOf({ query: 'stone', top_k: 1, ...body });
      return search.mock.calls.at(-1)?.arguments[1].limit;
    };
    assert.equal(await looksAt({ search_type: 'hybrid' }), 100);
    assert.equal(await looksAt({ search_type: 'keyword', rerank: true }), 100);
    assert.equal(await looksAt({ search_type: 'keyword' }), 2);
    assert.equal(await looksAt({ search_type: 'vector', top_k: 60 }), 120);
    assert.equal(search.mock.callCount(), 4, 'what is enough is not looked for again');
  });

  it('over-fetches ten times as many candidates without rows, up to 2,000', async (t) => {
    const limits: number[] = [];
    t.mock.method(api.deps.chunks, 'search', async (_base: string, { limit }: { limit: number }) => {
      limits.push(limit);
      return Array.from({ length: limit }, (_, i) => ({ id: `chunk_${i}`, cosine: null, bm25: 1, isBound: false }));
    });
    const found = namesOf({ query: 'stone', search_type: 'keyword', top_k: 100 });
    assert.deepEqual(await withDeadline('the end of the search', found), []);
    assert.deepEqual(limits, [200, 2_000]);
  });

  it('fails when usage cannot be recorded, after the search has ended', async () => {
    const [row] = await api.db.sql.select().from(knowledgeBases).where(eq(knowledgeBases.id, base));
    assert.ok(row);
    const caller = serviceCaller(row.organizationId, 'key_1');
    const call = { caller, requestId: 'req_1', endpoint: '/', priority: 'interactive' as const };
    const deps = { ...api.deps, recordUsage: () => Promise.reject(new Error('the ledger is away')) };
    const asked = { ...RETRIEVAL_DEFAULTS, query: 'stone', signal: new AbortController().signal };
    await assert.rejects(retrieveChunks(deps, call, row, asked), /the ledger is away/);
  });

  it('returns no chunk without a row', async () => {
    const [row] = await api.db.sql.select().from(documents).where(eq(documents.name, 'code.txt'));
    const stored = await api.db.sql
      .select()
      .from(chunks)
      .where(eq(chunks.documentId, row?.id ?? ''));
    await api.db.sql.delete(chunks).where(eq(chunks.documentId, row?.id ?? ''));
    assert.deepEqual(await namesOf({ query: 'E-4711', search_type: 'keyword' }), []);
    await api.db.sql.insert(chunks).values(stored);
    assert.deepEqual(await namesOf({ query: 'E-4711', search_type: 'keyword' }), ['code.txt']);
  });

  it('returns later hits in place of any number of chunks without rows', async () => {
    const query = { query: 'stone', search_type: 'vector' };
    const [first, second, third] = await namesOf(query);
    const gone = await api.db.sql
      .delete(chunks)
      .where(
        inArray(
          chunks.documentId,
          api.db.sql
            .select({ id: documents.id })
            .from(documents)
            .where(inArray(documents.name, [first, second])),
        ),
      )
      .returning();
    const found = await namesOf({ ...query, top_k: 1 });
    await api.db.sql.insert(chunks).values(gone);
    assert.deepEqual(found, [third]);
    assert.deepEqual(await namesOf({ ...query, top_k: 1 }), [first]);
  });

  it('503 for vector search during re-embedding; keyword search works', async () => {
    const set = (fingerprint: string) =>
      api.db.sql.update(knowledgeBases).set({ embeddingFingerprint: fingerprint }).where(eq(knowledgeBases.id, base));
    await set('another model');
    const refused = await retrieve({ query: 'stone', search_type: 'vector' });
    const found = await namesOf({ query: 'stone' });
    await set(engine.fingerprint());
    assertError(refused, 503, 'engine_unavailable');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.deepEqual(found.toSorted(), ['long.txt', 'short.txt']);
  });

  it('403 naming rerank_model for a key that may not use the reranker', async () => {
    const { key } = await api.makeKey({ models: ['embed-large-en-v1.5'] });
    assertError(await retrieve({ query: 'stone', rerank: true }, key), 403, 'insufficient_scope', 'rerank_model');
  });

  it('accepts a query of 100,000 characters', async () => {
    assert.equal((await retrieve({ query: 'a'.repeat(100_000), search_type: 'keyword' })).status, 200);
  });

  it('stems a newly added language, also after a search without hits', async () => {
    const other = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'German' } })).json.id;
    const find = async () =>
      (await retrieve({ query: 'Verordnung', search_type: 'keyword' }, api.key, other)).json.results;
    assert.deepEqual(await find(), []);
    const source = new MemorySource();
    source.items.set('law', 'Die Verordnungen sind in der Gemeinde und in den Ländern nicht die gleichen.');
    const { queueJob, run } = await makeSource(api, other, source);
    await run(await queueJob());
    assert.equal((await find()).length, 1);
  });

  it('404 when the knowledge base is deleted during the search', async () => {
    const other = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Gone' } })).json.id;
    const source = new MemorySource();
    for (let i = 0; i < 20; i++) source.items.set(`item${i}`, `Stone ${i} is a stone.`);
    const { queueJob, run } = await makeSource(api, other, source);
    await run(await queueJob());
    const answers = Array.from({ length: 30 }, async (_, i) => {
      if (i === 5) await api.send('DELETE', `/v1/knowledge-bases/${other}`);
      return (await retrieve({ query: 'stone' }, api.key, other)).status;
    });
    assert.deepEqual(
      (await Promise.all(answers)).filter((status) => status !== 200 && status !== 404),
      [],
    );
  });

  it('returns nothing for an empty knowledge base', async () => {
    const empty = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Empty' } })).json.id;
    for (const search_type of ['hybrid', 'vector', 'keyword']) {
      assert.deepEqual((await retrieve({ query: 'stone', search_type }, api.key, empty)).json.results, []);
    }
  });

  const refused: [what: string, body: object, param: string, code?: string][] = [
    ['no query', {}, 'query', 'missing_required_field'],
    ['an empty query', { query: '' }, 'query'],
    ['a blank query', { query: ' \n' }, 'query'],
    ['a query of more than 100,000 characters', { query: 'a'.repeat(100_001) }, 'query'],
    ['a query that is no text', { query: 5 }, 'query'],
    ['top_k of 0', { query: 'a', top_k: 0 }, 'top_k'],
    ['top_k of 1.5', { query: 'a', top_k: 1.5 }, 'top_k'],
    ['top_k of 101', { query: 'a', top_k: 101 }, 'top_k'],
    ['an unknown search type', { query: 'a', search_type: 'magic' }, 'search_type'],
    ['min_score above 1', { query: 'a', min_score: 1.1 }, 'min_score'],
    ['min_score below 0', { query: 'a', min_score: -0.1 }, 'min_score'],
    ['filters that are no object', { query: 'a', filters: [] }, 'filters'],
    ['an unknown operator', { query: 'a', filters: { metadata: { x: { $like: 'b' } } } }, 'filters.metadata.x.$like'],
  ];
  for (const [what, body, param, code = 'invalid_value'] of refused) {
    it(`400 for ${what}`, async () => assertError(await retrieve(body), 400, code, param));
  }

  it('404 for an unknown or foreign knowledge base and an unknown reranker', async () => {
    const unknown = 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3';
    assertError(await retrieve({ query: 'a' }, api.key, unknown), 404, 'knowledge_base_not_found', 'kb_id');
    const { key } = await api.makeKey({ organization: 'foreign' });
    assertError(await retrieve({ query: 'a' }, key), 404, 'knowledge_base_not_found', 'kb_id');
    assertError(
      await retrieve({ query: 'stone', rerank: true, rerank_model: 'x' }),
      404,
      'model_not_found',
      'rerank_model',
    );
  });

  it('401 without a key, 403 without the scope knowledge', async () => {
    assertError(await retrieve({ query: 'a' }, null), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await retrieve({ query: 'a' }, key), 403, 'insufficient_scope');
  });
});
