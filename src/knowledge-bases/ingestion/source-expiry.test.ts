import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { bundledEmbedder, embeddedBy } from '../../../test/embedder.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { MemorySource, makeSource } from '../../../test/ingestion.ts';
import { purgeExpiredDocuments } from '../../retention/purge-expired-documents.ts';
import { documents, expiredItems } from '../documents/tables.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { dataSources } from '../tables.ts';

const HOUR_MS = 3_600_000;
const engine = bundledEmbedder();
after(() => engine.close());
let clock = Date.now;
afterEach(() => {
  clock = Date.now;
});
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], now: () => clock() });
const { signal } = new AbortController();

/** A data source whose documents expire after an hour, synced at a fixed time. */
async function setUp(items: Record<string, string>, config: object = { expires_after: 3600 }) {
  const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } });
  const source = new MemorySource();
  for (const [key, text] of Object.entries(items)) source.items.set(key, text);
  const made = await makeSource(api, json.id, source);
  const setConfig = async (changed: object) =>
    void (await api.db.sql
      .update(dataSources)
      .set({ config: { file_ids: [], ...changed } })
      .where(eq(dataSources.id, made.sourceId)));
  await setConfig(config);
  const startMs = Math.floor(Date.now() / 1000) * 1000;
  /** Syncs some time after the start. */
  const syncAt = async (ms: number) => {
    clock = () => startMs + ms;
    await made.run(await made.queueJob());
  };
  await syncAt(0);
  return {
    ...made,
    source,
    startMs,
    setConfig,
    syncAt,
    purgeAt: async (ms: number) => {
      clock = () => startMs + ms;
      await purgeExpiredDocuments(api.deps, signal);
    },
    texts: async (query: string): Promise<string[]> => {
      const body = { query, search_type: 'keyword' };
      const found = (await api.send('POST', `/v1/knowledge-bases/${json.id}/retrieve`, { body })).json.results;
      return found.map(({ text }: { text: string }) => text).sort();
    },
    rows: () => api.db.sql.select().from(documents).where(eq(documents.dataSourceId, made.sourceId)),
    markers: () => api.db.sql.select().from(expiredItems).where(eq(expiredItems.dataSourceId, made.sourceId)),
  };
}

describe('documents of a data source with expires_after', () => {
  it('expire to the second, and are not ingested again until their content changes', async () => {
    const key = `it's "a"`;
    const kb = await setUp({ [key]: 'Granite is a stone.', b: 'Marble is a stone.|Slate is a stone.' });
    const foreign = await setUp({ [key]: 'Granite is a rock.' }, {});
    assert.deepEqual(
      new Set((await kb.rows()).map(({ expiresAt }) => expiresAt?.getTime())),
      new Set([kb.startMs + HOUR_MS]),
    );
    clock = () => kb.startMs + HOUR_MS - 1;
    assert.equal((await kb.texts('stone')).length, 3);
    await kb.purgeAt(HOUR_MS - 1);
    assert.equal((await kb.rows()).length, 3);
    clock = () => kb.startMs + HOUR_MS;
    assert.deepEqual(await kb.texts('stone'), []);
    await Promise.all([kb.purgeAt(HOUR_MS), kb.purgeAt(HOUR_MS)]);
    assert.deepEqual(await kb.rows(), []);
    assert.equal((await foreign.rows()).length, 1);
    kb.source.fetched.length = 0;
    await kb.syncAt(HOUR_MS + 1);
    await kb.setConfig({ expires_after: 3600, metadata: { team: 'b' } });
    await kb.syncAt(HOUR_MS + 2);
    assert.deepEqual([kb.source.fetched, await kb.rows()], [[], []]);
    kb.source.items.set(key, 'Granite is a hard stone.');
    await kb.syncAt(2 * HOUR_MS);
    assert.deepEqual(kb.source.fetched, [key]);
    assert.deepEqual(await kb.texts('stone'), ['Granite is a hard stone.']);
    await kb.purgeAt(3 * HOUR_MS);
    await kb.syncAt(3 * HOUR_MS);
    assert.deepEqual([kb.source.fetched, await kb.rows()], [[key], []]);
  });

  it('keep their time when a sync leaves them unchanged, and get a new one when they change', async () => {
    const kb = await setUp({ a: 'Granite is a stone.', b: 'Marble is a stone.' });
    kb.source.items.set('b', 'Marble is a white stone.');
    await kb.syncAt(1000);
    const times = new Map((await kb.rows()).map(({ itemKey, expiresAt }) => [itemKey, expiresAt?.getTime()]));
    assert.deepEqual([times.get('a'), times.get('b')], [kb.startMs + HOUR_MS, kb.startMs + HOUR_MS + 1000]);
  });

  it('follow a changed expires_after, and return when it is removed', async () => {
    const kb = await setUp({ a: 'Granite is a stone.' }, {});
    const expiry = async () => (await kb.rows()).map(({ expiresAt }) => expiresAt?.getTime() ?? null);
    assert.deepEqual(await expiry(), [null]);
    for (const seconds of [7200, 60]) {
      await kb.setConfig({ expires_after: seconds });
      await kb.syncAt(1000);
      assert.deepEqual(await expiry(), [kb.startMs + seconds * 1000]);
    }
    await kb.purgeAt(60_000);
    await kb.setConfig({ expires_after: 7200 });
    await kb.syncAt(61_000);
    assert.deepEqual(await expiry(), [], 'a longer time does not bring it back');
    await kb.setConfig({});
    await kb.syncAt(62_000);
    assert.deepEqual([await expiry(), await kb.markers()], [[null], []]);
  });

  it('are forgotten when their source does not list them any more', async () => {
    const kb = await setUp({ a: 'Granite is a stone.' });
    await kb.purgeAt(HOUR_MS);
    assert.equal((await kb.markers()).length, 1);
    kb.source.items.delete('a');
    await kb.syncAt(HOUR_MS + 1);
    assert.deepEqual(await kb.markers(), []);
    kb.source.items.set('a', 'Granite is a stone.');
    await kb.syncAt(HOUR_MS + 2);
    assert.equal((await kb.rows()).length, 1);
  });

  it('that failed are read again by the next sync', async () => {
    const kb = await setUp({ a: '!' });
    await kb.purgeAt(HOUR_MS);
    assert.deepEqual(await kb.markers(), []);
    kb.source.fetched.length = 0;
    await kb.syncAt(HOUR_MS + 1);
    assert.deepEqual(kb.source.fetched, ['a']);
  });

  it('400 for an expires_after below a minute, above ten years, or no integer', async () => {
    const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } });
    const path = `/v1/knowledge-bases/${json.id}/data-sources`;
    const post = (expires_after: unknown) =>
      api.send('POST', path, { body: { type: 'web_crawl', config: { urls: ['https://example.com'], expires_after } } });
    for (const value of [59, 0, -1, 60.5, '3600', 315_360_001, true]) {
      assertError(await post(value), 400, 'invalid_value', 'config.expires_after');
    }
    for (const value of [60, 315_360_000]) {
      const { status, json: made } = await post(value);
      assert.deepEqual([status, made.config.expires_after], [200, value]);
    }
  });
});
