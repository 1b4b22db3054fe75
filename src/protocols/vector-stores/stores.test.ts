import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { embeddedBy, recordingEmbedder } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { runQueuedJobs } from '../../../test/ingestion.ts';
import { makeStore, uploadFile } from '../../../test/vector-stores.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';
import { knowledgeBases } from '../../knowledge-bases/tables.ts';
import { newId } from '../../lib/ids.ts';
import { StoreList, VectorStore } from './schema.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PATH = '/v1/vector_stores';
const engine = recordingEmbedder();
after(() => engine.close());
let clock = Date.now;
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE], now: () => clock() });
afterEach(() => {
  clock = Date.now;
});
const get = (id: string, key = api.key) => api.send('GET', `${PATH}/${id}`, { key });
const toBase = (id: string) => id.replace('vs_', 'kb_');

describe('POST /v1/vector_stores', () => {
  it('200 with a knowledge base under another name', async () => {
    const body = { name: 'Ann\'s "files"', description: 'All', metadata: { a: 'ä"\'' } };
    const store = await makeStore(api, body);
    assertSchema(VectorStore, store);
    assert.match(store.id, /^vs_/);
    assert.deepEqual([store.name, store.description, store.metadata], [body.name, 'All', body.metadata]);
    assert.deepEqual([store.status, store.expires_at, 'expires_after' in store], ['completed', null, false]);
    const { json } = await api.send('GET', `/v1/knowledge-bases/${toBase(store.id)}`);
    assert.deepEqual([json.name, json.metadata, json.document_count], [body.name, body.metadata, 0]);
  });

  it('a body without fields gives a store with a default name', async () => {
    assert.equal((await makeStore(api)).name, 'Vector store');
    assert.equal((await makeStore(api, { name: null, file_ids: null })).name, 'Vector store');
  });

  it('adds files once each, and creates nothing if one of them is unknown', async () => {
    const id = await uploadFile(api, 'a.txt', 'Alpha.');
    const store = await makeStore(api, { file_ids: [id, id] });
    assert.equal(store.file_counts.total, 1);
    const before = await api.db.sql.$count(knowledgeBases);
    const body = { file_ids: [id, newId('file')] };
    assertError(await api.send('POST', PATH, { body }), 404, 'file_not_found', 'file_ids.1');
    assert.equal(await api.db.sql.$count(knowledgeBases), before);
  });

  it('400 naming the field', async () => {
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
    for (const [body, param] of [
      [{ name: '' }, 'name'],
      [{ name: ' ' }, 'name'],
      [{ name: 'n'.repeat(257) }, 'name'],
      [{ metadata: pairs(17) }, 'metadata'],
      [{ metadata: { ['k'.repeat(65)]: 'v' } }, 'metadata'],
      [{ metadata: { k: 'v'.repeat(513) } }, 'metadata.k'],
      [{ metadata: { k: 1 } }, 'metadata.k'],
      [{ metadata: { k: 'a\0b' } }, 'metadata'],
      [{ file_ids: Array(501).fill('file-x') }, 'file_ids'],
      [{ expires_after: { anchor: 'created_at', days: 1 } }, 'expires_after.anchor'],
      [{ expires_after: { anchor: 'last_active_at', days: 0 } }, 'expires_after.days'],
      [{ expires_after: { anchor: 'last_active_at', days: 366 } }, 'expires_after.days'],
      [{ chunking_strategy: { type: 'semantic' } }, 'chunking_strategy.type'],
    ] as const) {
      assertError(await api.send('POST', PATH, { body }), 400, 'invalid_value', param);
    }
    await makeStore(api, { metadata: pairs(16), expires_after: { anchor: 'last_active_at', days: 365 } });
  });

  it('403 for files without the scope to read them', async () => {
    const { key } = await api.makeKey({ scopes: ['knowledge'] });
    const body = { file_ids: [await uploadFile(api, 'a.txt', 'Alpha.')] };
    assertError(await api.send('POST', PATH, { body, key }), 403, 'insufficient_scope', 'file_ids');
  });

  it('401 without a key', async () => {
    assertError(await api.send('POST', PATH, { body: {}, key: null }), 401, 'invalid_api_key');
  });
});

describe('GET /v1/vector_stores/{vector_store_id}', () => {
  it('takes both ids of a knowledge base', async () => {
    const base = (await api.send('POST', '/v1/knowledge-bases', { body: { name: 'B', metadata: { n: [1] } } })).json;
    const id = base.id.replace('kb_', 'vs_');
    for (const either of [base.id, id]) {
      const { json } = await get(either);
      assert.deepEqual([json.id, json.name, json.metadata], [id, 'B', { n: '[1]' }]);
    }
  });

  it("404 vector_store_not_found for an unknown id and another organization's", async () => {
    const { key } = await api.makeKey({ organization: 'other' });
    const { id } = await makeStore(api, {}, key);
    for (const path of [id, toBase(id), newId('vectorStore'), 'x', 'kb_', '%00'])
      assertError(await get(path), 404, 'vector_store_not_found', 'vector_store_id');
  });

  it('counts the files of every data source, and their bytes', async () => {
    const posted = await uploadFile(api, 'a.txt', 'Alpha.');
    const { id } = await makeStore(api, { file_ids: [posted] });
    assert.equal((await get(id)).json.status, 'in_progress');
    const other = await uploadFile(api, 'b.txt', 'Beta!!');
    const source = {
      type: 'file_upload',
      config: { file_ids: [other, await uploadFile(api, 'c.txt', '!unreadable')] },
    };
    await api.send('POST', `/v1/knowledge-bases/${toBase(id)}/data-sources`, { body: source });
    await runQueuedJobs(api);
    const { json } = await get(id);
    assert.deepEqual(json.file_counts, { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 });
    assert.deepEqual([json.status, json.usage_bytes], ['completed', 6 + 6 + 11]);
  });
});

describe('GET /v1/vector_stores', () => {
  it('pages in both directions and orders, newest first unless said', async () => {
    const { key } = await api.makeKey({ organization: 'pages' });
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await makeStore(api, {}, key)).id);
    const list = async (query: string) => {
      const { json } = await api.send('GET', `${PATH}?${query}`, { key });
      assertSchema(StoreList, json);
      return [json.data.map(({ id }: { id: string }) => ids.indexOf(id)), json.has_more];
    };
    assert.deepEqual(await list(''), [[4, 3, 2, 1, 0], false]);
    assert.deepEqual(await list('limit=2'), [[4, 3], true]);
    assert.deepEqual(await list(`limit=2&after=${ids[3]}`), [[2, 1], true]);
    assert.deepEqual(await list(`limit=2&after=${ids[2]}`), [[1, 0], false]);
    assert.deepEqual(await list(`limit=2&before=${ids[1]}`), [[3, 2], true]);
    assert.deepEqual(await list(`limit=2&before=${ids[2]}`), [[4, 3], false]);
    assert.deepEqual(await list(`order=asc&limit=2&after=${ids[0]}`), [[1, 2], true]);
    assert.deepEqual(await list(`order=asc&limit=2&before=${ids[1]}`), [[0], false]);
    assert.deepEqual(await list(`after=${toBase(ids[1] ?? '')}`), [[0], false]);
  });

  it('400 naming the parameter', async () => {
    const id = newId('vectorStore');
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['order=up', 'order'],
      ['after=x', 'after'],
      ['before=x', 'before'],
      [`after=${id}&before=${id}`, 'before'],
    ]) {
      assertError(await api.send('GET', `${PATH}?${query}`), 400, 'invalid_value', param);
    }
  });
});

describe('POST /v1/vector_stores/{vector_store_id}', () => {
  it('replaces the metadata, keeps a name that is null, and is audited', async () => {
    const { id } = await makeStore(api, { name: 'A', metadata: { a: '1', b: '2' } });
    const { json } = await api.send('POST', `${PATH}/${id}`, { body: { name: null, metadata: { c: '3' } } });
    assert.deepEqual([json.name, json.metadata], ['A', { c: '3' }]);
    const cleared = await api.send('POST', `${PATH}/${id}`, { body: { name: 'B', metadata: null } });
    assert.deepEqual([cleared.json.name, cleared.json.metadata], ['B', {}]);
    const events = await api.send('GET', `/v1/admin/audit?resource_id=${toBase(id)}`);
    assert.ok(events.json.data?.some(({ action }: { action: string }) => action === 'knowledge_base.updated'));
  });

  it('400 and 404', async () => {
    const { id } = await makeStore(api);
    const send = (path: string, body: object) => api.send('POST', `${PATH}/${path}`, { body });
    assertError(await send(id, { name: '' }), 400, 'invalid_value', 'name');
    assertError(await send(id, { metadata: { a: 1 } }), 400, 'invalid_value', 'metadata.a');
    const expiry = { expires_after: { anchor: 'last_active_at', days: 400 } };
    assertError(await send(id, expiry), 400, 'invalid_value', 'expires_after.days');
    assertError(await send(newId('vectorStore'), {}), 404, 'vector_store_not_found', 'vector_store_id');
  });
});

describe('DELETE /v1/vector_stores/{vector_store_id}', () => {
  it('deletes the knowledge base and keeps the upload', async () => {
    const file = await uploadFile(api, 'a.txt', 'Alpha.');
    const { id } = await makeStore(api, { file_ids: [file] });
    await runQueuedJobs(api);
    const { json } = await api.send('DELETE', `${PATH}/${id}`);
    assert.deepEqual(json, { id, object: 'vector_store.deleted', deleted: true });
    assertError(await get(id), 404, 'vector_store_not_found', 'vector_store_id');
    assert.equal((await api.send('GET', `/v1/files/${file}`)).status, 200);
  });
});

describe('the expiry of a store', () => {
  const expires_after = { anchor: 'last_active_at', days: 2 };
  const search = (id: string) => api.send('POST', `${PATH}/${id}/search`, { body: { query: 'Alpha' } });

  it('begins with the last search, and an expired store rejects searches by both ids', async () => {
    const { id, created_at } = await makeStore(api, {
      expires_after,
      file_ids: [await uploadFile(api, 'a.txt', 'Alpha.')],
    });
    await runQueuedJobs(api);
    assert.equal((await get(id)).json.expires_at, created_at + 2 * 86_400);
    const start = Date.now();
    clock = () => start + DAY_MS;
    assert.equal((await search(id)).json.data.length, 1);
    const active = (await get(id)).json;
    assert.equal(active.last_active_at, Math.floor((start + DAY_MS) / 1000));
    assert.equal(active.expires_at, active.last_active_at + 2 * 86_400);
    clock = () => start + 3 * DAY_MS - 2000;
    assert.equal((await get(id)).json.status, 'completed');
    clock = () => start + 3 * DAY_MS;
    assert.equal((await get(id)).json.status, 'expired');
    assertError(await search(id), 400, 'invalid_value', 'vector_store_id');
    const body = { query: 'Alpha' };
    const native = await api.send('POST', `/v1/knowledge-bases/${toBase(id)}/retrieve`, { body });
    assertError(native, 400, 'invalid_value', 'kb_id');
  });

  it('loses nothing: another expiry ends it', async () => {
    const { id } = await makeStore(api, { expires_after, file_ids: [await uploadFile(api, 'a.txt', 'Alpha.')] });
    await runQueuedJobs(api);
    const start = Date.now();
    clock = () => start + 5 * DAY_MS;
    assert.equal((await get(id)).json.status, 'expired');
    const { json } = await api.send('POST', `${PATH}/${id}`, { body: { expires_after: null } });
    assert.deepEqual([json.status, json.expires_at, 'expires_after' in json], ['completed', null, false]);
    assert.equal((await search(id)).json.data.length, 1);
  });
});
