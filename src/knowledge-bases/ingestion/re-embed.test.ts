import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { and, eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import type { EmbeddingEngine } from '../../engines/embedding-engine.ts';
import type { ModelRegistry } from '../../engines/registry.ts';
import { retiredModels } from '../../models/bindings/tables.ts';
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

/** Binds the model. Without `retired`, the engines of former bindings are gone. */
function bind(embedding: EmbeddingEngine, retired: EmbeddingEngine[] = []): void {
  const registry = api.deps.models as ModelRegistry;
  registry.replace(registry.list().map((model) => (model.id === MODEL ? { ...model, embedding, retired } : model)));
}

/** Asserts that a search by vectors finds the chunk of a text. */
async function assertFound(kb: { retrieve(query: string, type: string): ReturnType<typeof api.send> }, query: string) {
  const { status, json, text } = await kb.retrieve(query, 'vector');
  assert.equal(status, 200, text);
  const [best] = json.results;
  assert.equal(best?.text, query);
  assert.ok(best.score > 0.999, `score ${best.score}`);
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

  it('searches by keyword without the former model, says so, and embeds the stored chunks again', async () => {
    const kb = await setUp({ a: 'Granite is a hard stone.', b: 'Salmon is a fish.' });
    bind(second);
    const refused = await kb.retrieve('Salmon is a fish.', 'vector');
    assertError(refused, 503, 'engine_unavailable');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    for (const type of ['keyword', 'hybrid']) {
      const { json } = await kb.retrieve('salmon', type);
      assert.deepEqual([json.results[0].document_name, json.search_type], ['b.txt', 'keyword']);
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

  it('searches the old vectors until all chunks have new ones, and continues after a stop', async () => {
    const kb = await setUp({ lines: Array.from({ length: 200 }, (_, i) => `stone ${i}`).join('|') });
    const firstFingerprint = await kb.fingerprint();
    bind(second, [first]);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    const stopping = new AbortController();
    onEmbed = () => {
      if (embedded.length > 128) stopping.abort(new Error('stopping'));
    };
    await assert.rejects(kb.run(job?.id ?? '', stopping.signal), /stopping/);
    const done = (await kb.documents()).filter(({ embeddingFingerprint }) => embeddingFingerprint === 'second');
    assert.ok(done.length > 0 && done.length < 200, `${done.length} documents`);
    assert.equal(await kb.fingerprint(), firstFingerprint);
    for (const number of [0, 99, 199]) await assertFound(kb, `stone ${number}`);
    bind(first);
    assert.equal((await kb.retrieve('stone', 'vector')).status, 200, 'the old vectors are complete');
    bind(second);
    assertError(await kb.retrieve('stone', 'vector'), 503, 'engine_unavailable');
    embedded = [];
    onEmbed = () => {};
    await kb.run(job?.id ?? '');
    assert.equal(embedded.length, 200 - done.length, 'nothing is embedded twice');
    const [ended] = await kb.embedJobs();
    assert.deepEqual([ended?.documentsScanned, ended?.documentsProcessed], [200, 200]);
    assert.equal(await kb.fingerprint(), 'second');
    assert.equal((await kb.retrieve('stone 7', 'vector')).status, 200);
    assert.equal(await api.deps.chunks.count(kb.id), 200);
    const ids = (await kb.documents()).map(({ id }) => id);
    const old = await api.deps.chunks.vectors(kb.id, ids);
    assert.ok(
      [...old.values()].every((vector) => vector === null),
      'the old vectors are dropped',
    );
  });

  it('switches to the new vectors when every data source has them', async () => {
    const texts = [`Granite isn't "soft".`, 'Salmon is a fish.'] as const;
    const kb = await setUp({ a: texts[0] });
    const other = new MemorySource();
    other.items.set('b', texts[1]);
    const more = await makeSource(api, kb.id, other);
    await more.run(await more.queueJob());
    const foreign = await setUp({ c: 'Salmon is a fish.' });
    const before = await kb.fingerprint();
    bind(second, [first]);
    await queueReEmbedding(api.deps);
    const [one, two] = await kb.embedJobs();
    await kb.run(one?.id ?? '');
    assert.equal(await kb.fingerprint(), before);
    for (const text of texts) await assertFound(kb, text);
    await kb.run(two?.id ?? '');
    assert.equal(await kb.fingerprint(), 'second');
    for (const text of texts) await assertFound(kb, text);
    assert.equal(await foreign.fingerprint(), before);
    await assertFound(foreign, 'Salmon is a fish.');
  });

  it('finds documents by vectors that are ingested, changed or relabelled meanwhile', async () => {
    const kb = await setUp({ a: 'Granite is a hard stone.', b: 'Salmon is a fish.' });
    bind(second, [first]);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    const stopping = new AbortController();
    kb.source.items.set('b', 'Trout is a fish, too.');
    kb.source.items.set('c', 'The harbour closes at noon.');
    const config = { file_ids: [], metadata: { team: 'b' } };
    await api.db.sql.update(dataSources).set({ config }).where(eq(dataSources.id, kb.sourceId));
    onEmbed = () => stopping.abort(new Error('stopping'));
    const sync = await api.send('POST', `/v1/knowledge-bases/${kb.id}/data-sources/${kb.sourceId}/sync`);
    assert.equal(sync.json.id, job?.id);
    await assert.rejects(kb.run(sync.json.id, stopping.signal), /stopping/);
    assert.notEqual(await kb.fingerprint(), 'second');
    const texts = ['Granite is a hard stone.', 'Trout is a fish, too.', 'The harbour closes at noon.'];
    for (const text of texts) await assertFound(kb, text);
    onEmbed = () => {};
    await kb.run(sync.json.id);
    assert.equal(await kb.fingerprint(), 'second');
    for (const text of texts) await assertFound(kb, text);
    const [best] = (await kb.retrieve('granite', 'keyword')).json.results;
    assert.equal(best.metadata.team, 'b');
  });

  it('searches again when the vectors of its search were dropped', async () => {
    const kb = await setUp({ a: 'stone' });
    bind(second, [first]);
    await queueReEmbedding(api.deps);
    const [job] = await kb.embedJobs();
    const embedFirst = first.embed;
    first.embed = async (request, signal) => {
      const result = await embedFirst.call(first, request, signal);
      if (request.purpose === 'query') {
        first.embed = embedFirst;
        await kb.run(job?.id ?? '');
      }
      return result;
    };
    await assertFound(kb, 'stone');
    assert.equal(await kb.fingerprint(), 'second');
  });

  it('releases the former model when no search uses its vectors', async () => {
    await api.db.sql.delete(knowledgeBases);
    const kb = await setUp({ a: 'stone' });
    const rows = () => api.db.sql.select().from(retiredModels).where(eq(retiredModels.modelId, MODEL));
    const now = () => Date.now() + 11 * 60_000;
    await api.db.sql.insert(retiredModels).values({ modelId: MODEL, modelName: '' });
    bind(second, [first]);
    await queueReEmbedding({ ...api.deps, now });
    assert.equal((await rows()).length, 1);
    for (const { id } of await kb.embedJobs()) await kb.run(id);
    assert.equal(await kb.fingerprint(), 'second');
    await queueReEmbedding(api.deps);
    assert.equal((await rows()).length, 1, 'other processes may not have applied the binding yet');
    await queueReEmbedding({ ...api.deps, now });
    assert.deepEqual(await rows(), []);
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
