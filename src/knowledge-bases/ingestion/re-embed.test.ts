import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { and, eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import type { EmbeddingEngine } from '../../engines/embedding-engine.ts';
import type { ModelRegistry } from '../../engines/registry.ts';
import { documents } from '../documents/tables.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import { dataSources, knowledgeBases } from '../tables.ts';
import { queueReEmbedding } from './queue-re-embedding.ts';

const MODEL = 'embed-large-en-v1.5';

const first = bundledEmbedder();
after(() => first.close());
/** A second model: reverses the vectors of the first, so that equal texts have distant vectors. */
const second: EmbeddingEngine = {
  backend: () => first.backend(),
  fingerprint: () => 'second',
  embed: async (request, signal) => {
    embedded.push(...request.texts);
    await onEmbed();
    const { vectors, tokens } = await first.embed(request, signal);
    return { vectors: vectors.map((vector) => vector.toReversed()), tokens };
  },
  countTokens: (texts, signal) => first.countTokens(texts, signal),
  check: (signal) => first.check(signal),
  close: async () => {},
};
/** Texts embedded by the second model. */
let embedded: string[] = [];
let onEmbed: () => void | Promise<void> = () => {};

const api = useApi({ ...embeddedBy(first), jobs: [INGEST_SOURCE] });

function bind(engine: EmbeddingEngine): void {
  const registry = api.deps.models as ModelRegistry;
  const bound = registry.list().map((model) => (model.id === MODEL ? { ...model, embedding: engine } : model));
  registry.replace(bound);
}

/** A knowledge base with one data source, embedded by the first model. */
async function setUp(items: Record<string, string>) {
  const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } });
  const id: string = json.id;
  const source = new MemorySource();
  for (const [key, text] of Object.entries(items)) source.items.set(key, text);
  const made = await makeSource(api, id, source);
  await made.run(await made.queueJob());
  source.fetched.length = 0;
  const ofBase = eq(ingestionJobs.knowledgeBaseId, id);
  const row = async () => (await api.db.sql.select().from(knowledgeBases).where(eq(knowledgeBases.id, id)))[0];
  return {
    ...made,
    source,
    id,
    fingerprint: async () => (await row())?.embeddingFingerprint,
    status: async () => (await row())?.status,
    embedJobs: () =>
      api.db.sql
        .select()
        .from(ingestionJobs)
        .where(and(ofBase, eq(ingestionJobs.kind, 'embed'))),
    retrieve: (query: string, search_type: string) =>
      api.send('POST', `/v1/knowledge-bases/${id}/retrieve`, { body: { query, search_type } }),
    documents: () => api.db.sql.select().from(documents).where(eq(documents.knowledgeBaseId, id)),
  };
}

describe('re-embedding after the embedding model was rebound', () => {
  beforeEach(() => {
    bind(first);
    embedded = [];
    onEmbed = () => {};
  });

  it('embeds the stored chunks again; keyword search works meanwhile', async () => {
    const kb = await setUp({ a: 'Granite is a hard stone.', b: 'Salmon is a fish.' });
    bind(second);
    const refused = await kb.retrieve('Salmon is a fish.', 'vector');
    assertError(refused, 503, 'engine_unavailable');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    for (const type of ['keyword', 'hybrid']) {
      assert.equal((await kb.retrieve('salmon', type)).json.results[0].document_name, 'b.txt');
    }
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    assert.equal(await kb.status(), 'indexing');
    await kb.run(job?.id ?? '');
    assert.deepEqual(kb.source.fetched, []);
    assert.deepEqual(embedded.toSorted(), ['Granite is a hard stone.', 'Salmon is a fish.']);
    assert.deepEqual([await kb.fingerprint(), await kb.status()], ['second', 'active']);
    const [best] = (await kb.retrieve('Salmon is a fish.', 'vector')).json.results;
    assert.equal(best.document_name, 'b.txt');
    assert.ok(best.score > 0.999);
    const [ended] = await kb.embedJobs();
    assert.deepEqual(
      [ended?.status, ended?.documentsScanned, ended?.documentsProcessed, ended?.chunksCreated],
      ['completed', 2, 2, 0],
    );
  });

  it('clears the fingerprint until all chunks are embedded, and continues after a stop', async () => {
    const kb = await setUp({ lines: Array.from({ length: 200 }, (_, i) => `stone ${i}`).join('|') });
    bind(second);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    const stopping = new AbortController();
    onEmbed = () => {
      if (embedded.length > 128) stopping.abort(new Error('stopping'));
    };
    await assert.rejects(kb.run(job?.id ?? '', stopping.signal), /stopping/);
    const done = (await kb.documents()).filter(({ embeddingFingerprint }) => embeddingFingerprint === 'second').length;
    assert.ok(done > 0 && done < 200, `${done} documents`);
    assert.equal(await kb.fingerprint(), null);
    assertError(await kb.retrieve('stone', 'vector'), 503, 'engine_unavailable');
    bind(first);
    assertError(await kb.retrieve('stone', 'vector'), 503, 'engine_unavailable');
    bind(second);
    embedded = [];
    onEmbed = () => {};
    await kb.run(job?.id ?? '');
    assert.equal(embedded.length, 200 - done, 'nothing is embedded twice');
    const [ended] = await kb.embedJobs();
    assert.deepEqual([ended?.documentsScanned, ended?.documentsProcessed], [200, 200]);
    assert.equal((await kb.retrieve('stone 7', 'vector')).status, 200);
    assert.equal(await api.deps.chunks.count(kb.id), 200);
  });

  it('does nothing when the model is bound back before the job runs', async () => {
    const kb = await setUp({ a: 'stone' });
    bind(second);
    await queueReEmbedding(api.deps);
    bind(first);
    assert.equal((await kb.retrieve('stone', 'vector')).json.results.length, 1);
    const [job] = await kb.embedJobs();
    await kb.run(job?.id ?? '');
    assert.deepEqual([embedded.length, await kb.status()], [0, 'active']);
  });

  it('is queued once per interval, so that processes with different bindings do not alternate', async () => {
    const kb = await setUp({ a: 'stone' });
    bind(second);
    await queueReEmbedding(api.deps);
    await queueReEmbedding(api.deps);
    const [job, ...more] = await kb.embedJobs();
    assert.deepEqual(more, []);
    await kb.run(job?.id ?? '');
    bind(first);
    await queueReEmbedding(api.deps);
    assert.equal((await kb.embedJobs()).length, 1);
    await queueReEmbedding({ ...api.deps, now: () => Date.now() + 11 * 60_000 });
    assert.equal((await kb.embedJobs()).length, 2);
  });

  it('turns a queued re-embedding job into a sync when one is requested', async () => {
    const kb = await setUp({ a: 'stone' });
    bind(second);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    const sync = await api.send('POST', `/v1/knowledge-bases/${kb.id}/data-sources/${kb.sourceId}/sync`);
    assert.deepEqual([sync.status, sync.json.id], [202, job?.id]);
    kb.source.items.set('b', 'pebble');
    await kb.run(sync.json.id);
    assert.deepEqual(kb.source.fetched, ['b']);
    assert.equal(await kb.fingerprint(), 'second');
    assert.equal((await kb.retrieve('pebble', 'vector')).json.results.length, 2);
  });

  it('keeps chunks when the metadata changes too, and embeds them in the same job', async () => {
    const kb = await setUp({ a: 'stone' });
    bind(second);
    const config = { file_ids: [], metadata: { team: 'b' } };
    await api.db.sql.update(dataSources).set({ config }).where(eq(dataSources.id, kb.sourceId));
    await kb.run(await kb.queueJob());
    assert.deepEqual([kb.source.fetched, embedded, await kb.fingerprint()], [[], ['stone'], 'second']);
    const [found] = (await kb.retrieve('stone', 'vector')).json.results;
    assert.ok(found.score > 0.999);
    assert.equal(found.metadata.team, 'b');
  });

  it('does not restore a document that is deleted meanwhile', async () => {
    const kb = await setUp({ a: 'stone one', b: 'stone two' });
    bind(second);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    const [doomed] = await kb.documents();
    onEmbed = async () => {
      await api.send('DELETE', `/v1/knowledge-bases/${kb.id}/documents/${doomed?.id}`);
    };
    await kb.run(job?.id ?? '');
    assert.equal(await api.deps.chunks.count(kb.id), 1);
    assert.equal((await kb.retrieve('stone', 'vector')).json.results.length, 1);
  });

  it('leaves nothing behind when the knowledge base is deleted meanwhile', async () => {
    const kb = await setUp({ a: 'stone one', b: 'stone two' });
    bind(second);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    onEmbed = async () => {
      await api.send('DELETE', `/v1/knowledge-bases/${kb.id}`);
    };
    await kb.run(job?.id ?? '');
    assert.equal(await api.deps.chunks.count(kb.id), 0);
  });
});
