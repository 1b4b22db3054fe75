import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { INDEX_COMMANDS } from '../../cli/index-commands.ts';
import type { StateDeps } from '../../cli/state-command.ts';
import { ChunkIndex } from '../../search/chunk-index.ts';
import { documents } from '../documents/tables.ts';
import { queueReEmbedding } from '../ingestion/queue-re-embedding.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import { knowledgeBases } from '../tables.ts';
import { checkIndexes, inspectIndex } from './check-index.ts';
import { repairIndexes } from './repair-indexes.ts';

const never = new AbortController().signal;

describe('the search index of a knowledge base', () => {
  const embedder = bundledEmbedder();
  after(() => embedder.close());
  const api = useApi({ ...embeddedBy(embedder), jobs: [INGEST_SOURCE] });

  /** A knowledge base with three documents. */
  async function setUp() {
    const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } });
    const id: string = json.id;
    const source = new MemorySource();
    for (const word of ['apple', 'banana', 'cherry']) source.items.set(word, `The ${word} is ripe in summer.`);
    const made = await makeSource(api, id, source);
    await made.run(await made.queueJob());
    const state = async () =>
      (await api.db.sql.select().from(knowledgeBases).where(eq(knowledgeBases.id, id)))[0]?.indexState;
    const retrieve = (search_type: string) =>
      api.send('POST', `/v1/knowledge-bases/${id}/retrieve`, { body: { query: 'ripe banana', search_type } });
    const check = () => checkIndexes(api.deps, never);
    /** Runs the repair and the jobs that it queues, like the worker. */
    const repair = async () => {
      await repairIndexes(api.deps);
      await queueReEmbedding(api.deps);
      const jobs = await api.db.sql.select().from(ingestionJobs).where(eq(ingestionJobs.knowledgeBaseId, id));
      for (const job of jobs) if (job.status === 'queued') await made.run(job.id);
      await repairIndexes(api.deps);
    };
    return { id, source, state, retrieve, check, repair, table: join(api.indexFolder, `${id}.lance`) };
  }

  const filesOf = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));

  /** Keyword and hybrid searches return the chunk with both words first, and `keyword` as the search that was done. */
  async function assertKeywordsOnly(retrieve: (type: string) => ReturnType<typeof api.send>) {
    for (const type of ['keyword', 'hybrid']) {
      const { status, json } = await retrieve(type);
      assert.deepEqual([status, json.search_type], [200, 'keyword']);
      assert.match(json.results[0].text, /banana/);
    }
    const answer = await retrieve('vector');
    assertError(answer, 503, 'engine_unavailable');
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  }

  it('is complete after ingestion', async () => {
    const { id, check, state } = await setUp();
    assert.deepEqual(await inspectIndex(api.deps, id), { state: 'complete' });
    await check();
    assert.equal(await state(), 'ready');
  });

  const truncateAll = (folder: string, to: (bytes: number) => number) => {
    for (const file of filesOf(folder)) truncateSync(file, to(statSync(file).size));
  };

  const damages: [name: string, damage: (table: string) => void][] = [
    ['missing', (table) => rmSync(table, { recursive: true })],
    ['without its data files', (table) => rmSync(join(table, 'data'), { recursive: true })],
    ['with truncated data files', (table) => truncateAll(join(table, 'data'), (bytes) => bytes - 1)],
    ['with an empty data file', (table) => truncateSync(filesOf(join(table, 'data'))[0] ?? '')],
    ['without its keyword index', (table) => rmSync(join(table, '_indices'), { recursive: true })],
    ['with a truncated keyword index', (table) => truncateAll(join(table, '_indices'), (bytes) => bytes - 1)],
    ['without its versions', (table) => rmSync(join(table, '_versions'), { recursive: true })],
    ['with truncated versions', (table) => truncateAll(join(table, '_versions'), () => 3)],
    ['at its first version', (table) => filesOf(join(table, '_versions')).sort(oldestFirst).slice(1).forEach(remove)],
  ];
  const oldestFirst = (a: string, b: string) => statSync(a).mtimeMs - statSync(b).mtimeMs;
  const remove = (file: string) => rmSync(file);

  for (const [name, damage] of damages) {
    it(`is rebuilt when it is ${name}`, async () => {
      const { id, state, retrieve, repair, table } = await setUp();
      damage(table);
      // Simulates a restart: the index of the API has cached some of its files.
      const chunks = await ChunkIndex.open(api.indexFolder);
      await checkIndexes({ ...api.deps, chunks }, never);
      await chunks.close();
      await api.deps.chunks.scan(id).catch(() => {});
      assert.notEqual(await state(), 'ready');
      await assertKeywordsOnly(retrieve);
      await repairIndexes(api.deps);
      await assertKeywordsOnly(retrieve);
      await repair();
      assert.equal(await state(), 'ready');
      assert.deepEqual(await inspectIndex(api.deps, id), { state: 'complete' });
      for (const type of ['keyword', 'vector', 'hybrid']) {
        const { json } = await retrieve(type);
        assert.match(json.results[0].text, /banana/, type);
      }
    });
  }

  it('is repaired document by document when only some are missing', async () => {
    const { id, state, retrieve, check, repair } = await setUp();
    const [row] = await api.db.sql.select().from(documents).where(eq(documents.knowledgeBaseId, id));
    assert.ok(row);
    await api.deps.chunks.remove(id, [row.id]);
    const condition = { state: 'incomplete', documentIds: [row.id], isMostlyMissing: false };
    assert.deepEqual(await inspectIndex(api.deps, id), condition);
    await check();
    assert.equal(await state(), 'rebuilding');
    const waiting = (await api.db.sql.select().from(documents).where(eq(documents.knowledgeBaseId, id))).filter(
      ({ embeddingFingerprint }) => embeddingFingerprint === null,
    );
    assert.deepEqual(
      waiting.map((document) => document.id),
      [row.id],
    );
    for (const type of ['keyword', 'vector', 'hybrid']) {
      const { json } = await retrieve(type);
      assert.deepEqual([json.search_type, json.results.length], [type, 2]);
    }
    await repair();
    assert.equal(await state(), 'ready');
    assert.deepEqual(await inspectIndex(api.deps, id), { state: 'complete' });
  });

  it('is checked when a search fails', async () => {
    const { state, retrieve, repair, table } = await setUp();
    for (const file of filesOf(join(table, 'data'))) truncateSync(file);
    for (const file of filesOf(join(table, '_indices'))) truncateSync(file);
    await assertKeywordsOnly(retrieve);
    while ((await state()) === 'ready') await new Promise(setImmediate);
    await repair();
    assert.equal((await retrieve('keyword')).status, 200);
  });

  it('is rebuilt when another version of the program wrote it', async () => {
    const { id, state, check, repair } = await setUp();
    await api.db.sql.update(knowledgeBases).set({ indexVersion: 0 }).where(eq(knowledgeBases.id, id));
    await check();
    assert.equal(await state(), 'damaged');
    await repair();
    const [row] = await api.db.sql.select().from(knowledgeBases).where(eq(knowledgeBases.id, id));
    assert.deepEqual([row?.indexState, row?.indexVersion], ['ready', 1]);
  });

  it('does not become ready while it lacks what a job has written beside the repair', async () => {
    const { id, state, check, repair, table } = await setUp();
    rmSync(table, { recursive: true });
    await check();
    await repairIndexes(api.deps);
    // Simulates a job that wrote to the index before it was dropped and records its documents as embedded now.
    await api.db.sql
      .update(documents)
      .set({ embeddingFingerprint: embedder.fingerprint() })
      .where(eq(documents.knowledgeBaseId, id));
    await repairIndexes(api.deps);
    assert.equal(await state(), 'damaged');
    await repair();
    assert.equal(await state(), 'ready');
  });

  it('is checked when its table is missing after a restart', async () => {
    const { id, state, retrieve, table } = await setUp();
    rmSync(table, { recursive: true });
    // Closes the open table, as a restart does.
    await api.deps.chunks.scan(id);
    await assertKeywordsOnly(retrieve);
    while ((await state()) === 'ready') await new Promise(setImmediate);
    assert.equal(await state(), 'damaged');
  });

  it("is reported by 'index check' and rebuilt by 'index rebuild'", async () => {
    const { id, state, repair, table } = await setUp();
    const run = (command: string) => INDEX_COMMANDS[command]?.(api.deps as unknown as StateDeps, { knowledgeBase: id });
    const head = { knowledge_base: id, name: 'Base', chunks: 3 };
    assert.deepEqual(await run('index check'), [{ ...head, state: 'complete', detail: '' }]);
    rmSync(table, { recursive: true });
    assert.deepEqual(await run('index check'), [{ ...head, state: 'incomplete', detail: '3 documents lack chunks' }]);
    assert.equal(await state(), 'ready');
    assert.deepEqual(await run('index rebuild'), [id]);
    assert.deepEqual(await run('index check'), [{ ...head, state: 'rebuilding', detail: '' }]);
    await repair();
    assert.deepEqual(await run('index check'), [{ ...head, state: 'complete', detail: '' }]);
  });
});
