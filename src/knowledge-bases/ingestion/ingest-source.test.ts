import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, describe, it, mock } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { ingestInMemory } from '../../../test/ingestion.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { newId } from '../../lib/ids.ts';
import { droppedDocuments } from '../documents/tables.ts';
import { purgeTombstones } from '../documents/tombstones.ts';
import { ingestionJobs, jobDocuments } from '../jobs/tables.ts';
import { FilterKeys } from './filter-keys.ts';
import { EmbedderUnavailable } from './retry-while-unavailable.ts';
import { beginRun, selectJobContext } from './store.ts';
import { writeDocuments } from './write-documents.ts';

const engine = bundledEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));

const setUp = (items: Record<string, string>) => ingestInMemory(api, items);

async function beginJob(id: string) {
  const context = await selectJobContext(api.db.sql, id);
  assert.ok(context);
  return { ...context, job: { ...context.job, run: await beginRun(api.db.sql, context, new Date()) } };
}

const namesOf = (results: { document_name: string }[]) => results.map(({ document_name }) => document_name).toSorted();

describe('ingestSource', () => {
  it('makes documents searchable and updates counts and statuses', async () => {
    const kb = await setUp({ a: 'Granite is a hard stone.', b: 'Salmon is a fish.' });
    const job = await kb.sync();
    assert.equal(job?.status, 'completed');
    assert.deepEqual(
      [job?.documentsScanned, job?.documentsNew, job?.documentsProcessed, job?.documentsFailed, job?.chunksCreated],
      [2, 2, 2, 0, 2],
    );
    assert.ok(job?.startedAt !== null && job?.completedAt !== null);
    const source = await kb.sourceRow();
    assert.deepEqual([source?.status, source?.documentCount], ['active', 2]);
    assert.ok(source?.lastSyncedAt instanceof Date);
    const base = await kb.base();
    assert.deepEqual([base.status, base.document_count, base.chunk_count], ['active', 2, 2]);
    const [found] = await kb.find('stones');
    assert.equal(found.document_name, 'a.txt');
    assert.deepEqual(found.metadata, {
      origin: 'a',
      words: 5,
      team: 'a',
      heading_path: [],
      start_index: 0,
      end_index: 24,
    });
    assert.deepEqual(namesOf(await kb.find('fish', { search_type: 'hybrid' })), ['a.txt', 'b.txt']);
    await kb.assertCounts();
  });

  it('detects new, changed, deleted and unchanged items on the next sync', async () => {
    const kb = await setUp({ same: 'stone one', changed: 'stone two', gone: 'stone three', failed: '!stone' });
    await kb.sync();
    const before = await kb.documents();
    kb.source.fetched.length = 0;
    kb.source.items.set('changed', 'pebble four');
    for (const key of ['gone', 'failed']) kb.source.items.delete(key);
    kb.source.items.set('new', 'stone five');
    const job = await kb.sync();
    assert.deepEqual(kb.source.fetched.toSorted(), ['changed', 'new']);
    assert.deepEqual(
      [job?.documentsScanned, job?.documentsNew, job?.documentsModified, job?.documentsDeleted, job?.documentsSkipped],
      [3, 1, 1, 2, 1],
    );
    assert.deepEqual(namesOf(await kb.find('stone')), ['new.txt', 'same.txt']);
    assert.deepEqual(namesOf(await kb.find('pebble')), ['changed.txt']);
    const ids = new Map(before.map(({ itemKey, id }) => [itemKey, id]));
    for (const { itemKey, id } of await kb.documents()) if (ids.has(itemKey)) assert.equal(id, ids.get(itemKey));
    await kb.assertCounts();
  });

  it('fails only the document that cannot be extracted, and retries it on the next sync', async () => {
    const kb = await setUp({ good: 'stone', bad: '!stone' });
    const job = await kb.sync();
    assert.deepEqual([job?.status, job?.documentsProcessed, job?.documentsFailed], ['completed', 1, 1]);
    const details = await api.db.sql
      .select()
      .from(jobDocuments)
      .where(eq(jobDocuments.jobId, job?.id ?? ''));
    assert.deepEqual(details.map(({ documentName, status, error }) => [documentName, status, error?.code]).toSorted(), [
      ['bad.txt', 'failed', 'invalid_file'],
      ['good.txt', 'completed', undefined],
    ]);
    assert.deepEqual(
      (await kb.documents()).map(({ status }) => status),
      ['failed', 'completed'],
    );
    kb.source.fetched.length = 0;
    await kb.sync();
    assert.deepEqual(kb.source.fetched, ['bad']);
    await kb.assertCounts();
  });

  it('fetches a failed document once per job, also when the job runs again', async () => {
    const kb = await setUp({ bad: '!stone' });
    const job = await kb.sync();
    // The state after a kill between the last document and the end of the job.
    const id = job?.id ?? '';
    await api.db.sql.update(ingestionJobs).set({ status: 'processing' }).where(eq(ingestionJobs.id, id));
    await kb.run(id);
    assert.equal((await kb.jobRow(id))?.status, 'completed');
    assert.deepEqual(kb.source.fetched, ['bad']);
  });

  it('fails only the document that cannot be written, not those of the same write', async () => {
    const kb = await setUp({ good: 'stone', bad: 'stone \0', other: 'stone' });
    const job = await kb.sync();
    assert.deepEqual([job?.status, job?.documentsProcessed, job?.documentsFailed], ['completed', 2, 1]);
    assert.deepEqual(
      (await kb.documents()).map(({ itemKey, status }) => [itemKey, status]),
      [
        ['bad', 'failed'],
        ['good', 'completed'],
        ['other', 'completed'],
      ],
    );
    assert.deepEqual(namesOf(await kb.find('stone')), ['good.txt', 'other.txt']);
    await kb.assertCounts();
  });

  it('keeps the previous version after a retryable error', async () => {
    const kb = await setUp({ a: 'stone' });
    await kb.sync();
    kb.source.items.set('a', 'pebble');
    kb.source.onFetch = () => {
      throw new IngestionError('rate_limited', 'Too fast.');
    };
    const job = await kb.sync();
    assert.deepEqual([job?.status, job?.documentsFailed, job?.documentsDeleted], ['completed', 1, 0]);
    assert.deepEqual(namesOf(await kb.find('stone')), ['a.txt']);
    kb.source.onFetch = () => {};
    await kb.sync();
    assert.deepEqual(namesOf(await kb.find('pebble')), ['a.txt']);
    await kb.assertCounts();
  });

  it('keeps previous documents of an item that fails half-way with a retryable error', async () => {
    const kb = await setUp({ lines: Array.from({ length: 200 }, (_, i) => `stone ${i}`).join('|') });
    await kb.sync();
    kb.source.items.set('lines', kb.source.items.get('lines')?.replaceAll('stone', 'pebble') ?? '');
    kb.source.onFetch = () => {
      throw new IngestionError('rate_limited', 'Too many requests.');
    };
    const refused = await kb.sync();
    assert.deepEqual([refused?.documentsScanned, refused?.documentsFailed, refused?.documentsDeleted], [1, 1, 0]);
    assert.equal((await kb.base()).document_count, 200);
    kb.source.onFetch = () => {};
    const whole = kb.deps.extractor;
    kb.deps.extractor = {
      async *extract(...args) {
        let left = 150;
        for await (const part of whole.extract(...args)) if (left-- > 0) yield part;
        yield { part: '', error: new IngestionError('timeout', 'It took too long.') };
      },
    };
    const broken = await kb.sync();
    assert.deepEqual([broken?.status, broken?.documentsFailed, broken?.documentsDeleted], ['completed', 1, 0]);
    assert.equal(broken?.documentsScanned, (broken?.documentsProcessed ?? 0) + 1);
    assert.ok((broken?.documentsProcessed ?? 0) > 0);
    assert.equal((await kb.base()).document_count, 200);
    kb.deps.extractor = whole;
    const read = await kb.sync();
    assert.deepEqual([read?.documentsScanned, read?.documentsFailed, read?.documentsDeleted], [200, 0, 0]);
    assert.deepEqual(await kb.find('stone', { search_type: 'keyword' }), []);
    await kb.assertCounts();
  });

  it('makes a document of each part of an item and deletes removed parts', async () => {
    const kb = await setUp({ lines: 'stone one|!broken|stone three' });
    const first = await kb.sync();
    assert.deepEqual([first?.documentsScanned, first?.documentsNew, first?.documentsFailed], [3, 3, 1]);
    assert.deepEqual(
      (await kb.documents()).map(({ part, status, sourceUri }) => [part, status, sourceUri]),
      [
        ['1', 'completed', 'mem:lines#1'],
        ['2', 'failed', 'mem:lines#2'],
        ['3', 'completed', 'mem:lines#3'],
      ],
    );
    kb.source.items.set('lines', 'stone one|stone two');
    const job = await kb.sync();
    assert.deepEqual([job?.documentsScanned, job?.documentsModified, job?.documentsDeleted], [2, 2, 1]);
    const again = await kb.sync();
    assert.deepEqual([again?.documentsScanned, again?.documentsSkipped, again?.documentsNew], [2, 2, 0]);
    assert.deepEqual(
      (await kb.documents()).map(({ part, status }) => [part, status]),
      [
        ['1', 'completed'],
        ['2', 'completed'],
      ],
    );
    await kb.assertCounts();
  });

  it('fails the job when the source cannot be listed; an empty knowledge base becomes error', async () => {
    const kb = await setUp({});
    kb.source.listError = new IngestionError('authentication_failed', 'The token is wrong.');
    const job = await kb.sync();
    assert.equal(job?.status, 'failed');
    assert.deepEqual(job?.error, {
      code: 'authentication_failed',
      message: 'The token is wrong.',
      param: null,
      retryable: false,
    });
    assert.deepEqual([(await kb.sourceRow())?.status, (await kb.base()).status], ['error', 'error']);
    kb.source.listError = null;
    kb.source.items.set('a', 'stone');
    await kb.sync();
    assert.deepEqual([(await kb.sourceRow())?.status, (await kb.base()).status], ['active', 'active']);
  });

  it('retries the job instead of failing documents while the embedding model is unavailable', async () => {
    const kb = await setUp({ a: 'stone', b: 'pebble' });
    kb.source.onFetch = () => {
      throw new EmbedderUnavailable(900, null);
    };
    const id = await kb.queueJob();
    for (let run = 1; run < 5; run++) await assert.rejects(kb.run(id), EmbedderUnavailable);
    assert.deepEqual(await kb.documents(), []);
    await kb.run(id);
    const job = await kb.jobRow(id);
    assert.deepEqual([job?.status, job?.documentsFailed, job?.error?.retryable], ['failed', 0, true]);
    assert.match(job?.error?.message ?? '', /has been unavailable for 15 minutes/);
  });

  it('retries a job with a retryable error up to the maximum attempts', async () => {
    const kb = await setUp({});
    kb.source.listError = new Error('the network is gone');
    const id = await kb.queueJob();
    for (let run = 1; run < 5; run++) await assert.rejects(kb.run(id), /network/);
    assert.equal((await kb.jobRow(id))?.status, 'processing');
    await kb.run(id);
    const job = await kb.jobRow(id);
    assert.deepEqual([job?.status, job?.error?.code, job?.attempts], ['failed', 'server_error', 5]);
    assert.doesNotMatch(job?.error?.message ?? '', /network/);
  });

  it('fails a job that repeatedly crashes the process, but not one that is stopped', async () => {
    const kb = await setUp({ a: 'stone' });
    const id = await kb.queueJob();
    for (let run = 1; run <= 6; run++) {
      const stopping = new AbortController();
      kb.source.onFetch = () => stopping.abort(new Error('stopping'));
      await assert.rejects(kb.run(id, stopping.signal), /stopping/);
    }
    assert.deepEqual([(await kb.jobRow(id))?.status, (await kb.jobRow(id))?.attempts], ['processing', 0]);
    const context = await selectJobContext(api.db.sql, id);
    assert.ok(context);
    for (let attempts = 0; attempts < 5; attempts++) {
      // A killed run leaves its incremented attempts.
      await beginRun(api.db.sql, { ...context, job: { ...context.job, attempts } }, new Date());
    }
    kb.source.fetched.length = 0;
    await kb.run(id);
    const job = await kb.jobRow(id);
    assert.deepEqual([job?.status, job?.error?.code, kb.source.fetched], ['failed', 'server_error', []]);
  });

  it('completes a job whose documents are stored when the index cannot be compacted', async () => {
    const kb = await setUp({ a: 'stone' });
    const mocked = mock.method(api.deps.chunks, 'maintain', () => Promise.reject(new Error('the store rejects it')));
    const job = await kb.sync();
    mocked.mock.restore();
    assert.deepEqual([job?.status, job?.documentsProcessed], ['completed', 1]);
    assert.equal((await kb.find('stone')).length, 1);
  });

  it('continues after a stop without repeating finished documents', async () => {
    const items = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`item${String(i).padStart(2, '0')}`, `stone ${i}`]),
    );
    const kb = await setUp(items);
    const controller = new AbortController();
    kb.source.onFetch = () => {
      if (kb.source.fetched.length === 10) controller.abort(new Error('stopping'));
    };
    const id = await kb.queueJob();
    await assert.rejects(kb.run(id, controller.signal), /stopping/);
    const finished = new Set(
      (await kb.documents()).filter(({ status }) => status === 'completed').map(({ itemKey }) => itemKey),
    );
    assert.ok(finished.size > 0 && finished.size < 20);
    kb.source.fetched.length = 0;
    kb.source.onFetch = () => {};
    await kb.run(id);
    assert.ok(
      kb.source.fetched.every((key) => !finished.has(key)),
      'nothing finished is fetched again',
    );
    const job = await kb.jobRow(id);
    assert.deepEqual([job?.status, job?.documentsProcessed, job?.chunksCreated], ['completed', 20, 20]);
    await kb.assertCounts();
  });

  it('leaves nothing behind when the knowledge base is deleted meanwhile', async () => {
    const kb = await setUp({ a: 'stone', b: 'stone', c: 'stone' });
    kb.source.onFetch = async (key) => {
      if (key === 'b') await api.send('DELETE', `/v1/knowledge-bases/${kb.baseId}`);
    };
    await kb.run(await kb.queueJob());
    assert.deepEqual(await kb.documents(), []);
    assert.equal(await api.deps.chunks.count(kb.baseId), 0);
    assert.ok(!readdirSync(api.indexFolder).some((name) => name.startsWith(kb.baseId)));
    assert.equal((await api.send('GET', `/v1/knowledge-bases/${kb.baseId}`)).status, 404);
  });

  it('does not restore a document that is deleted meanwhile', async () => {
    const kb = await setUp({ a: 'stone', b: 'stone' });
    await kb.sync();
    const context = await beginJob(await kb.queueJob());
    const [before] = await kb.documents();
    assert.ok(before !== undefined);
    const deletion = await api.send('DELETE', `/v1/knowledge-bases/${kb.baseId}/documents/${before.id}`);
    assert.equal(deletion.status, 200);
    const vector = new Float32Array(1024).fill(1 / 32);
    const chunk = {
      id: newId('chunk'),
      text: 'pebble',
      vector,
      tokens: 1,
      startIndex: 0,
      endIndex: 6,
      headingPath: [],
      page: null,
      laterPlaces: null,
      boxes: null,
      cells: null,
    };
    const prepared = { chunks: [chunk], language: 'en' as const, contentHash: 'x', extractionHash: 'x' };
    await writeDocuments(
      api.deps,
      { ...context, fingerprint: engine.fingerprint(), filterKeys: new FilterKeys(api.db, kb.baseId) },
      [{ row: before, before, outcome: { prepared } }],
    );
    assert.ok((await kb.documents()).every(({ id }) => id !== before.id));
    assert.deepEqual(await kb.find('pebble'), []);
    await kb.assertCounts();
  });

  it('filters by the first 256 keys, reports others as unfilterable, and frees unused keys', async () => {
    const kb = await setUp({});
    const keys = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${from + i}`, from + i]));
    const bring = async (key: string, metadata: Record<string, unknown>) => {
      kb.source.items.set(key, `stone ${key}`);
      kb.source.metadata.set(key, metadata);
      await kb.sync();
      return (await kb.documents()).find(({ itemKey }) => itemKey === key);
    };
    const names = async (filters: object) => namesOf(await kb.find('stone', { filters: { metadata: filters } }));
    // In addition to three keys of every document.
    assert.deepEqual((await bring('a', keys(0, 253)))?.unfilterableKeys, []);
    const over = await bring('b', keys(252, 5));
    assert.deepEqual(over?.unfilterableKeys.length, 4);
    assert.deepEqual(await names({ key252: { $gte: 252 } }), ['a.txt', 'b.txt']);
    const [unseen] = over?.unfilterableKeys ?? [];
    assert.deepEqual(await names({ [unseen ?? '']: { $gte: 0 } }), []);
    assert.equal(over?.metadata[unseen ?? ''], Number(unseen?.slice(3)));
    kb.source.items.delete('a');
    await kb.sync();
    assert.deepEqual((await bring('c', keys(300, 250)))?.unfilterableKeys, []);
    assert.deepEqual(await names({ key310: 310 }), ['c.txt']);
  });

  it('flattens the metadata of the config, which overrides that of documents', async () => {
    const kb = await setUp({ a: 'stone' });
    kb.source.metadata.set('a', { author: { name: 'own', team: 'x' } });
    await kb.setMetadata({ author: { name: "the source's" }, tags: ['\u00e9', 3], none: null });
    await kb.sync();
    const [document] = await kb.documents();
    const { 'author.name': name, 'author.team': team, tags, ...rest } = document?.metadata ?? {};
    assert.deepEqual([name, team, tags, rest], ["the source's", 'x', ['\u00e9', 3], { origin: 'a', words: 1 }]);
    const found = async (filters: object) => (await kb.find('stone', { filters: { metadata: filters } })).length;
    assert.deepEqual(await Promise.all([{ 'author.name': "the source's" }, { tags: 'e\u0301' }].map(found)), [1, 1]);
  });

  it('stores metadata that is too long to filter, reports its keys, and omits what exceeds 64 KiB', async () => {
    const kb = await setUp({ a: 'stone' });
    const long = 'k'.repeat(257);
    const metadata = {
      list: [5, 'x', true],
      none: [],
      text: 'x'.repeat(4097),
      many: Array.from({ length: 257 }, (_, i) => i),
      [long]: 1,
    };
    const bulk = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`bulk${i}`, 'x'.repeat(15_000)]));
    kb.source.metadata.set('a', { ...metadata, nested: { deep: { at: 7 } }, ...bulk });
    await kb.sync();
    const [document] = await kb.documents();
    const { list, none, text, many, [long]: kept } = document?.metadata ?? {};
    assert.deepEqual({ list, none, text, many, [long]: kept }, metadata);
    assert.ok(Buffer.byteLength(JSON.stringify(document?.metadata)) <= 65_536);
    const unfilterable = ['text', 'many', long, 'bulk0', 'bulk1', 'bulk2', 'bulk3', 'bulk4'];
    assert.deepEqual(document?.unfilterableKeys.toSorted(), unfilterable.toSorted());
    assert.ok(!('bulk4' in (document?.metadata ?? {})));
    const found = async (filters: object) => (await kb.find('stone', { filters: { metadata: filters } })).length;
    assert.deepEqual(
      await Promise.all(
        [{ list: 5 }, { list: true }, { list: '5' }, { 'nested.deep.at': { $gt: 6 } }, { many: 3 }].map(found),
      ),
      [1, 1, 0, 1, 0],
    );
  });

  it('removes index entries that never got a row', async (test) => {
    const kb = await setUp({ a: 'stone' });
    const chunks = api.deps.chunks;
    const killed = async () => {
      throw new Error('killed');
    };
    const removal = test.mock.method(chunks, 'remove', killed);
    await kb.syncWith((replace, ...args) => replace(...args).then(killed));
    removal.mock.restore();
    assert.equal(await chunks.count(kb.baseId), 1);
    await purgeTombstones(api.deps);
    assert.equal(await chunks.count(kb.baseId), 1, 'it may still be written');
    await api.db.sql.update(droppedDocuments).set({ createdAt: new Date() });
    await purgeTombstones(api.deps);
    assert.equal(await chunks.count(kb.baseId), 0);
    await kb.sync();
    assert.deepEqual(await api.db.sql.select().from(droppedDocuments), []);
    await kb.assertCounts();
  });

  it('ignores finished and unknown jobs', async () => {
    const kb = await setUp({ a: 'stone' });
    const job = await kb.sync();
    kb.source.items.set('a', 'other');
    await kb.run(job?.id ?? '');
    await kb.run('job_unknown');
    assert.deepEqual(kb.source.fetched, ['a']);
  });
});
