import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { embeddedBy, recordingEmbedder } from '../../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { runQueuedJobs } from '../../../test/ingestion.ts';
import { makeStore, uploadFile } from '../../../test/vector-stores.ts';
import { INGEST_SOURCE } from '../../knowledge-bases/jobs/ingest-job.ts';
import { newId } from '../../lib/ids.ts';
import { FileBatch, StoreFileList } from './schema.ts';

const engine = recordingEmbedder();
after(() => engine.close());
const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
const path = (store: string, rest = '') => `/v1/vector_stores/${store}/file_batches${rest}`;

async function create(store: string, body: object) {
  const { status, json, text } = await api.send('POST', path(store), { body });
  assert.equal(status, 200, text);
  assertSchema(FileBatch, json);
  return json;
}
const show = async (store: string, batch: string) => (await api.send('GET', path(store, `/${batch}`))).json;
const showFile = async (store: string, file: string) =>
  (await api.send('GET', `/v1/vector_stores/${store}/files/${file}`)).json;
const upload = (...contents: string[]) =>
  Promise.all(contents.map((content, i) => uploadFile(api, `${i}.txt`, content)));

describe('a file batch', () => {
  it('is in progress until its files are ingested, and counts failed files', async () => {
    const { id } = await makeStore(api);
    const [good = '', bad = ''] = await upload('Alpha.', '!broken');
    const attributes = { region: 'eu' };
    const batch = await create(id, { file_ids: [good, bad, good], attributes });
    assert.match(batch.id, /^vsfb_/);
    assert.deepEqual([batch.status, batch.vector_store_id, batch.file_counts.total], ['in_progress', id, 2]);
    await runQueuedJobs(api);
    const done = await show(id, batch.id);
    assert.equal(done.status, 'completed');
    assert.deepEqual(done.file_counts, { in_progress: 0, completed: 1, failed: 1, cancelled: 0, total: 2 });
    assert.deepEqual((await showFile(id, good)).attributes, attributes);
  });

  it('has failed when all of its files have', async () => {
    const { id } = await makeStore(api);
    const batch = await create(id, { file_ids: await upload('!one', '!two') });
    await runQueuedJobs(api);
    assert.equal((await show(id, batch.id)).status, 'failed');
  });

  it('files have attributes and sizes of their own', async () => {
    const { id } = await makeStore(api);
    const [one = '', two = ''] = await upload('Alpha.', 'Beta.');
    const strategy = { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 100 } };
    const files = [
      { file_id: one, attributes: { n: 1 } },
      { file_id: two, chunking_strategy: strategy },
    ];
    await create(id, { files, attributes: { ignored: true } });
    await runQueuedJobs(api);
    assert.deepEqual((await showFile(id, one)).attributes, { n: 1 });
    const second = await showFile(id, two);
    assert.deepEqual([second.attributes, second.chunking_strategy], [{}, strategy]);
  });

  it('lists its files only, by status and in pages', async () => {
    const { id } = await makeStore(api, { file_ids: await upload('Other.') });
    const ids = await upload('Alpha.', '!broken', 'Gamma.');
    const batch = await create(id, { file_ids: ids });
    await runQueuedJobs(api);
    const list = async (query: string) => {
      const { json } = await api.send('GET', path(id, `/${batch.id}/files?${query}`));
      assertSchema(StoreFileList, json);
      return [json.data.map((file: { id: string }) => ids.indexOf(file.id)), json.has_more];
    };
    assert.deepEqual(await list('order=asc'), [[0, 1, 2], false]);
    assert.deepEqual(await list('limit=2'), [[2, 1], true]);
    assert.deepEqual(await list(`limit=2&after=${ids[1]}`), [[0], false]);
    assert.deepEqual(await list('filter=failed'), [[1], false]);
  });

  it('once cancelled, no job reads its files, and the others stay', async () => {
    const [first = '', second = '', third = ''] = await upload('Alpha.', 'Beta.', 'Gamma.');
    const { id } = await makeStore(api, { file_ids: [first] });
    await runQueuedJobs(api);
    const batch = await create(id, { file_ids: [first, second] });
    await api.send('POST', `/v1/vector_stores/${id}/files`, { body: { file_id: third } });
    const cancelled = (await api.send('POST', path(id, `/${batch.id}/cancel`))).json;
    assert.equal(cancelled.status, 'cancelled');
    const counts = { in_progress: 0, completed: 1, failed: 0, cancelled: 1, total: 2 };
    assert.deepEqual(cancelled.file_counts, counts);
    await runQueuedJobs(api);
    assert.deepEqual((await show(id, batch.id)).file_counts, counts);
    const statuses = [first, second, third].map(async (file) => (await showFile(id, file)).status);
    assert.deepEqual(await Promise.all(statuses), ['completed', 'cancelled', 'completed']);
    await create(id, { file_ids: [second] });
    await runQueuedJobs(api);
    assert.equal((await showFile(id, second)).status, 'completed', 'added again');
  });

  it('a finished batch is not cancelled', async () => {
    const { id } = await makeStore(api);
    const batch = await create(id, { file_ids: await upload('Alpha.') });
    await runQueuedJobs(api);
    assert.equal((await api.send('POST', path(id, `/${batch.id}/cancel`))).json.status, 'completed');
  });

  it('adds all files or none', async () => {
    const { id } = await makeStore(api);
    const body = { file_ids: [...(await upload('Alpha.')), newId('file')] };
    assertError(await api.send('POST', path(id), { body }), 404, 'file_not_found', 'file_ids.1');
    const { file_counts } = (await api.send('GET', `/v1/vector_stores/${id}`)).json;
    assert.equal(file_counts.total, 0);
  });

  it('400 naming the field, 401, 403 and 404', async () => {
    const { id } = await makeStore(api);
    const [file = ''] = await upload('Alpha.');
    const strategy = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 51 } };
    const overlap = 'chunking_strategy.static.chunk_overlap_tokens';
    for (const [body, param, code = 'invalid_value'] of [
      [{}, 'file_ids', 'missing_required_field'],
      [{ file_ids: [] }, 'file_ids'],
      [{ file_ids: Array(2001).fill(file) }, 'file_ids'],
      [{ files: [{}] }, 'files.0.file_id', 'missing_required_field'],
      [{ file_ids: [file], files: [{ file_id: file }] }, 'files'],
      [{ file_ids: [file], chunking_strategy: strategy }, overlap],
      [{ files: [{ file_id: file, chunking_strategy: strategy }] }, `files.0.${overlap}`],
      [{ files: [{ file_id: file, attributes: { a: {} } }] }, 'files.0.attributes.a'],
    ] as const) {
      assertError(await api.send('POST', path(id), { body }), 400, code, param);
    }
    const body = { file_ids: [file] };
    assertError(await api.send('POST', path(id), { body, key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['knowledge'] });
    assertError(await api.send('POST', path(id), { body, key }), 403, 'insufficient_scope', 'file_ids');
    const batch = await create(id, { file_ids: Array(2000).fill(file) });
    const other = await makeStore(api);
    const elsewhere = await api.send('GET', path(other.id, `/${batch.id}`));
    assertError(elsewhere, 404, 'file_batch_not_found', 'file_batch_id');
  });

  it('takes 2,000 files', async () => {
    const { id } = await makeStore(api);
    const [file = ''] = await upload('Alpha.');
    await api.db.execute(
      `insert into files select (jsonb_populate_record(f, jsonb_build_object('id', 'file-01m854c9djs7qmc1k4srm' || to_char(n, 'FM00000')))).*
       from files f, generate_series(1, 2000) n where f.id = $1`,
      [file],
    );
    const ids = Array.from({ length: 2000 }, (_, i) => `file-01m854c9djs7qmc1k4srm${String(i + 1).padStart(5, '0')}`);
    assert.equal((await create(id, { file_ids: ids })).file_counts.total, 2000);
  });
});
