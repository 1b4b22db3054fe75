import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { callBatches, chatLine, createBatchOf, uploadBatchFile } from '../../test/batches.ts';
import { encodeForm, sendForm } from '../../test/forms.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { listSchema } from '../db/page.ts';
import { newId } from '../lib/ids.ts';
import { RUN_BATCH } from './batch-job.ts';
import { Batch, ListedBatch } from './schema.ts';

// No worker runs the jobs: batches stay in the state `validating`.
describe('/v1/batches', () => {
  const api = useApi({ jobs: [RUN_BATCH] });
  let file: string;
  before(async () => {
    file = await uploadBatchFile(api, chatLine('a', 'Hi'));
  });
  const valid = () => ({ input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' });
  const create = (changes: object = {}, key = api.key, headers = {}) =>
    api.send('POST', '/v1/batches', { body: { ...valid(), ...changes }, key, headers });

  it('POST creates a batch with the metadata of the caller', async () => {
    const { status, json } = await create({ metadata: { run: 'nightly', n: 1 } });
    assert.equal(status, 200);
    assertSchema(Batch, json);
    assert.match(json.id, /^batch_/);
    assert.deepEqual(json.metadata, { run: 'nightly', n: 1 });
    assert.deepEqual(json.request_counts, { total: 0, completed: 0, failed: 0 });
    assert.deepEqual((await create({ metadata: null })).json.metadata, {});
  });

  it('400 names the field that is missing or not accepted', async () => {
    for (const field of Object.keys(valid())) {
      assertError(await create({ [field]: undefined }), 400, 'missing_required_field', field);
      assertError(await create({ [field]: 7 }), 400, 'invalid_value', field);
    }
    assertError(await create({ endpoint: '/v1/rerank' }), 400, 'invalid_value', 'endpoint');
    assertError(await create({ completion_window: '1h' }), 400, 'invalid_value', 'completion_window');
    assertError(await create({ metadata: 'text' }), 400, 'invalid_value', 'metadata');
    const expiry = (seconds: number, anchor = 'created_at') => ({ output_expires_after: { anchor, seconds } });
    assertError(await create(expiry(3_599)), 400, 'invalid_value', 'output_expires_after.seconds');
    assertError(await create(expiry(3_600, 'now')), 400, 'invalid_value', 'output_expires_after.anchor');
    assert.equal((await create({ output_expires_after: null })).status, 200);
    assertError(await create({ metadata: { long: 'x'.repeat(65_536) } }), 400, 'invalid_value', 'metadata');
  });

  it('404 for unknown and foreign files, 400 for a file of another purpose', async () => {
    assertError(await create({ input_file_id: newId('file') }), 404, 'file_not_found', 'input_file_id');
    assertError(await create({ input_file_id: 'file-\0' }), 404, 'file_not_found', 'input_file_id');
    const foreign = await api.makeKey({ organization: 'another' });
    assertError(await create({}, foreign.key), 404, 'file_not_found', 'input_file_id');
    const parts = [
      { name: 'purpose', content: 'fine-tune' },
      { name: 'file', filename: 'a.jsonl', content: chatLine('a', 'Hi') },
    ];
    const { json } = await sendForm(`${api.url}/v1/files`, encodeForm(parts), { key: api.key });
    assertError(await create({ input_file_id: json.id }), 400, 'invalid_value', 'input_file_id');
  });

  it('an Idempotency-Key creates one batch', async () => {
    const headers = { 'idempotency-key': 'one batch' };
    const [first, second] = [await create({}, api.key, headers), await create({}, api.key, headers)];
    assert.deepEqual(second.json, first.json);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
  });

  it('GET returns the batch; 404 for unknown, malformed and foreign ids', async () => {
    const { id } = (await create()).json;
    const { json } = await api.send('GET', `/v1/batches/${id}`);
    assertSchema(Batch, json);
    assert.equal(json.id, id);
    const foreign = await api.makeKey({ organization: 'another' });
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/cancel'],
    ] as const) {
      for (const unknown of [newId('batch'), newId('batchLine'), 'batch_1', '%00']) {
        const answer = await api.send(method, `/v1/batches/${unknown}${suffix}`);
        assertError(answer, 404, 'batch_not_found', 'batch_id');
      }
      const answer = await api.send(method, `/v1/batches/${id}${suffix}`, { key: foreign.key });
      assertError(answer, 404, 'batch_not_found', 'batch_id');
    }
  });

  it('GET lists the batches of the organization, oldest first', async () => {
    const { key } = await api.makeKey({ organization: 'lists' });
    const target = { url: api.url, key };
    const ids: string[] = [];
    for (const id of ['a', 'b', 'c']) ids.push((await createBatchOf(target, [chatLine(id, 'Hi')])).id);
    const page = await callBatches(target, 'GET', '?limit=2');
    assertSchema(listSchema(ListedBatch), page);
    assert.deepEqual([page.has_more, page.last_id], [true, ids[1]]);
    const rest = await callBatches(target, 'GET', `?limit=2&after=${page.last_id}`);
    const listed = [...page.data, ...rest.data].map(({ id }) => id);
    assert.deepEqual([listed, rest.has_more], [ids, false]);
    const newest = await callBatches(target, 'GET', '?order=desc&limit=2');
    const older = await callBatches(target, 'GET', `?order=desc&after=${newest.last_id}`);
    assert.deepEqual(
      [...newest.data, ...older.data].map(({ id }) => id),
      ids.toReversed(),
    );
    assertError(await api.send('GET', '/v1/batches?order=up'), 400, 'invalid_value', 'order');
    for (const query of ['limit=0', 'limit=101', 'limit=x']) {
      assertError(await api.send('GET', `/v1/batches?${query}`), 400, 'invalid_value', 'limit');
    }
    assertError(await api.send('GET', `/v1/batches?after=${newId('file')}`), 400, 'invalid_value', 'after');
  });

  it('cancel ends a batch that is not validated at once, and releases its file', async () => {
    const created = await createBatchOf(api, [chatLine('a', 'Hi')]);
    const cancelled = await callBatches(api, 'POST', `/${created.id}/cancel`);
    assertSchema(Batch, cancelled);
    assert.equal(cancelled.status, 'cancelled');
    assert.ok(cancelled.cancelled_at !== null);
    assert.equal((await api.send('DELETE', `/v1/files/${created.input_file_id}`)).status, 200);
    const again = await api.send('POST', `/v1/batches/${created.id}/cancel`);
    assertError(again, 409, 'batch_not_cancellable', 'batch_id');
  });

  it('401 without a key, 403 without one of the scopes inference and files', async () => {
    const ROUTES = [
      ['POST', '', valid()],
      ['GET', '', undefined],
      ['GET', `/${newId('batch')}`, undefined],
      ['POST', `/${newId('batch')}/cancel`, undefined],
    ] as const;
    for (const [method, path, body] of ROUTES) {
      const send = (key: string | null) => api.send(method, `/v1/batches${path}`, { key, body });
      assertError(await send(null), 401, 'invalid_api_key');
      for (const scopes of [['inference'], ['files']] as const) {
        assertError(await send((await api.makeKey({ scopes })).key), 403, 'insufficient_scope');
      }
    }
  });
});
