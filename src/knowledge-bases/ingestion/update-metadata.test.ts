import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { embeddedBy, recordingEmbedder } from '../../../test/embedder.ts';
import { useApi } from '../../../test/harness.ts';
import { ingestInMemory } from '../../../test/ingestion.ts';
import { usageRecords } from '../../billing/tables.ts';
import { chunks } from '../documents/tables.ts';
import type { ingestionJobs } from '../jobs/tables.ts';

const engine = recordingEmbedder();
after(() => engine.close());
const api = useApi(embeddedBy(engine));
const setUp = (items: Record<string, string>) => ingestInMemory(api, items);

type Replace = typeof api.deps.chunks.replace;

const namesOf = (results: { document_name: string }[]) => results.map(({ document_name }) => document_name).toSorted();

describe('a sync after the metadata of the config changed', () => {
  const chunkIds = async () => (await api.db.sql.select().from(chunks)).map(({ id }) => id).toSorted();
  const usage = async () => (await api.db.sql.select().from(usageRecords)).length;
  /** Names of the documents that match all fields. */
  const having = async (kb: Awaited<ReturnType<typeof setUp>>, metadata: object, more: object = {}) =>
    namesOf(await kb.find('stone', { filters: { metadata }, ...more }));
  /** Counters of a job that only updated the metadata of `documents` documents. */
  const assertKept = (job: typeof ingestionJobs.$inferSelect | undefined, count: number) =>
    assert.deepEqual(
      [job?.status, job?.documentsScanned, job?.documentsModified, job?.documentsProcessed, job?.chunksCreated],
      ['completed', count, count, count, 0],
    );

  it('updates filters without fetching or embedding documents', async () => {
    const kb = await setUp({ a: 'stone one', b: 'stone two', parts: 'stone three|stone four' });
    await kb.setMetadata({ team: 'a', rank: 5, origin: 'source' });
    await kb.sync();
    assert.equal((await having(kb, { team: 'a', rank: { $gte: 5 }, origin: 'source' })).length, 4);
    const [ids, billed] = [await chunkIds(), await usage()];
    kb.source.fetched.length = engine.embedded.length = 0;
    await kb.setMetadata({ team: 'b', since: '2026-01-02' });
    const job = await kb.sync();
    assert.deepEqual([kb.source.fetched, engine.embedded, await usage()], [[], [], billed]);
    assertKept(job, 4);
    assert.deepEqual(await chunkIds(), ids);
    assert.deepEqual(await having(kb, { team: 'b', since: { $gt: '2026-01-01' }, origin: 'a' }), ['a.txt']);
    assert.equal((await having(kb, { team: 'b' }, { search_type: 'vector' })).length, 4);
    for (const gone of [{ team: 'a' }, { rank: { $gte: 0 } }, { rank: 5 }, { origin: 'source' }]) {
      assert.deepEqual(await having(kb, gone), []);
    }
    const [document] = await kb.documents();
    assert.deepEqual(document?.metadata, { team: 'b', since: '2026-01-02', words: 2, origin: 'a' });
    await kb.assertCounts();
    assert.equal((await kb.sync())?.documentsSkipped, 4);
  });

  it('ingests failed and changed items, and embeds only new text', async () => {
    const kb = await setUp({ parts: 'stone one|!broken', a: 'stone two', b: 'stone three' });
    await kb.sync();
    kb.source.fetched.length = engine.embedded.length = 0;
    await kb.setMetadata({ team: 'b' });
    kb.source.items.set('b', 'stone four');
    // The same text with other metadata of the item.
    kb.source.metadata.set('a', { origin: 'elsewhere' });
    const job = await kb.sync();
    assert.deepEqual(kb.source.fetched.toSorted(), ['a', 'b', 'parts']);
    assert.deepEqual([engine.embedded, job?.chunksCreated], [['stone four'], 1]);
    assert.deepEqual([job?.documentsModified, job?.documentsProcessed, job?.documentsFailed], [3, 3, 1]);
    assert.deepEqual(await having(kb, { team: 'b' }), ['a.txt', 'b.txt', 'parts.txt']);
    assert.deepEqual(await having(kb, { origin: 'elsewhere' }), ['a.txt']);
    assert.deepEqual(await having(kb, { team: 'a' }), []);
    await kb.assertCounts();
  });

  it('continues after a stop with the remaining parts of an item', async () => {
    const kb = await setUp({ parts: Array.from({ length: 300 }, (_, i) => `stone ${i}`).join('|') });
    await kb.sync();
    kb.source.fetched.length = engine.embedded.length = 0;
    await kb.setMetadata({ team: 'b' });
    const killed = new AbortController();
    let written = 0;
    const id = await kb.syncWith(async (replace, base, ids, what) => {
      await replace(base, ids, what);
      written += ids.length;
      if (written > 128) killed.abort(new Error('killed'));
    }, killed.signal);
    const half = (await kb.documents()).filter(({ metadata }) => metadata['team'] === 'b').length;
    assert.ok(half > 0 && half < 300, `${half} documents`);
    await kb.run(id);
    assertKept(await kb.jobRow(id), 300);
    assert.deepEqual([kb.source.fetched, engine.embedded], [[], []]);
    assert.ok((await kb.documents()).every(({ metadata }) => metadata['team'] === 'b'));
    assert.equal((await having(kb, { team: 'b' }, { top_k: 100 })).length, 100);
    await kb.assertCounts();
  });

  it('repairs the index after a kill and embeds only lost chunks', async () => {
    const kb = await setUp({ a: 'stone one', b: 'stone two' });
    await kb.sync();
    const kills = [
      {
        cut: (_replace: unknown, base: string, ids: readonly string[]) => api.deps.chunks.remove(base, ids),
        embedded: ['stone one', 'stone two'],
      },
      { cut: (replace: Replace, ...args: Parameters<Replace>) => replace(...args), embedded: [] },
    ];
    for (const [i, { cut, embedded }] of kills.entries()) {
      await kb.setMetadata({ round: i });
      engine.embedded.length = 0;
      const id = await kb.syncWith(async (...args) => {
        await cut(...args);
        throw new Error('killed');
      });
      await kb.run(id);
      assertKept(await kb.jobRow(id), 2);
      assert.deepEqual(engine.embedded.toSorted(), embedded);
      assert.deepEqual(await having(kb, { round: i }, { search_type: 'vector' }), ['a.txt', 'b.txt']);
      await kb.assertCounts();
    }
  });

  it('does not restore deleted documents', async () => {
    const kb = await setUp({ a: 'stone one', b: 'stone two' });
    await kb.sync();
    await kb.setMetadata({ team: 'b' });
    const [doomed] = await kb.documents();
    await kb.syncWith(async (replace, ...args) => {
      await api.send('DELETE', `/v1/knowledge-bases/${kb.baseId}/documents/${doomed?.id}`);
      await replace(...args);
    });
    assert.deepEqual(await having(kb, { team: 'b' }), ['b.txt']);
    await kb.assertCounts();
  });
});
