import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { BATCH_JOBS, workBatches } from '../../test/batch-jobs.ts';
import {
  assertEveryLineOnce,
  batchLine,
  callBatches,
  chatLine,
  createBatchOf,
  waitForBatch,
} from '../../test/batches.ts';
import { bundledEmbedder } from '../../test/embedder.ts';
import { assertError, assertSchema, bindCatalogue, useApi } from '../../test/harness.ts';
import { stream, untilAborted, withUsage, words } from '../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import { usageRecords } from '../billing/tables.ts';
import { MODERATION_CATEGORIES, type ModerationScores } from '../engines/moderation-engine.ts';
import { engineUnavailable } from '../errors.ts';
import { createBatchWorker } from './batch-worker.ts';
import { Batch, ListedBatch } from './schema.ts';
import { batches, batchLines } from './tables.ts';

/** Scores of a text that no category applies to. */
const HARMLESS = Object.fromEntries(MODERATION_CATEGORIES.map((name) => [name, 0])) as ModerationScores;
const embedder = bundledEmbedder();

/** The text of the only message of a scripted request. */
const promptOf = ({ prompt }: { prompt: object }): string =>
  (prompt as { messages: { content: string }[] }).messages[0]?.content ?? '';

describe('running batches', () => {
  const api = useApi({
    jobs: BATCH_JOBS,
    scoreTexts: async (texts) => texts.map(() => HARMLESS),
    models: (engine) =>
      bindCatalogue(engine).map((model) =>
        model.id === 'embed-large-en-v1.5' ? { ...model, embedding: embedder } : model,
      ),
  });
  /** The clock of the batches; tests move it. */
  let offsetMs = 0;
  before(() => {
    const deps = { ...api.deps, now: () => Date.now() + offsetMs };
    workBatches(deps, 4);
  });
  after(() => embedder.close());
  beforeEach(() => {
    offsetMs = 0;
    api.engine.play(() => stream(words('Hello there.')));
  });
  const usageOf = (requestId: string) =>
    api.db.sql.select().from(usageRecords).where(eq(usageRecords.requestId, requestId));

  it('completes: the response of each line equals that of its endpoint, at half the price', async () => {
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] };
    const created = await createBatchOf(api, [chatLine('a', 'Hi'), chatLine('b', 'Hi')]);
    assertSchema(Batch, created);
    assert.deepEqual([created.status, created.expires_at - created.created_at], ['validating', 86_400]);
    const batch = await waitForBatch(api, created.id);
    assertSchema(Batch, batch);
    assert.deepEqual([batch.status, batch.error_file_id], ['completed', null]);
    assert.ok(batch.in_progress_at !== null && batch.finalizing_at !== null && batch.completed_at !== null);
    const { output } = await assertEveryLineOnce(api, batch, ['a', 'b']);
    const [line] = output;
    assert.deepEqual(Object.keys(line).toSorted(), ['custom_id', 'error', 'id', 'response']);
    assert.deepEqual([line.error, line.response.status_code], [null, 200]);
    assert.match(line.id, /^batch_req_/);
    const online = await api.send('POST', '/v1/chat/completions', { body });
    const anonymous = (completion: object) => ({ ...completion, id: null, created: null });
    assert.deepEqual(anonymous(line.response.body), anonymous(online.json));
    const [[batchUsage], [onlineUsage]] = await Promise.all([
      usageOf(line.response.request_id),
      usageOf(online.headers.get('x-request-id') ?? ''),
    ]);
    assert.deepEqual([batchUsage?.isBatch, batchUsage?.endpoint], [true, '/v1/chat/completions']);
    assert.equal(batchUsage?.costMicros, Math.ceil((onlineUsage?.costMicros ?? 0) / 2));
    const records = await Promise.all(output.map(({ response }) => usageOf(response.request_id)));
    const cost = records.flat().reduce((sum, { costMicros }) => sum + costMicros, 0);
    assert.ok(cost > 0);
    assert.equal(batch.cost_micros, cost);
    assert.deepEqual([created.model, batch.model], [undefined, 'general-8b']);
    assert.deepEqual(batch.usage, {
      input_tokens: 14,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
    });
  });

  it('reports the usage of all lines, and no model when lines name several', async () => {
    const usage = { promptTokens: 10, cachedTokens: 4, completionTokens: 5, reasoningTokens: 3 };
    api.engine.play(() => stream(withUsage(words('Hello there.'), usage)));
    const lines = [chatLine('a', 'Hi'), chatLine('b', 'Hi'), chatLine('c', 'Hi').replace('general-8b', 'general-70b')];
    const { id, input_file_id } = await createBatchOf(api, lines);
    const batch = await waitForBatch(api, id);
    assert.equal(batch.model, undefined);
    assert.deepEqual(batch.usage, {
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 12 },
      output_tokens: 15,
      output_tokens_details: { reasoning_tokens: 9 },
      total_tokens: 45,
    });
    assert.equal('expires_at' in (await api.send('GET', `/v1/files/${batch.output_file_id}`)).json, false);
    const output_expires_after = { anchor: 'created_at', seconds: 7_200 };
    const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h', output_expires_after };
    const expiring = await waitForBatch(api, (await api.send('POST', '/v1/batches', { body })).json.id);
    const file = (await api.send('GET', `/v1/files/${expiring.output_file_id}`)).json;
    assert.equal(file.expires_at - file.created_at, 7_200);
  });

  it('lists the first ten errors of a rejected file', async () => {
    const lines = Array.from({ length: 12 }, (_, n) => chatLine(String(n), 'Hi').replace('general-8b', 'nothing'));
    const batch = await waitForBatch(api, (await createBatchOf(api, lines)).id);
    const listed = (await api.send('GET', '/v1/batches?order=desc&limit=1')).json.data[0];
    assertSchema(ListedBatch, listed);
    assert.deepEqual([batch.errors.data.length, listed.errors.data.length], [12, 10]);
    assert.deepEqual(listed.errors.data, batch.errors.data.slice(0, 10));
  });

  it('writes results in line order and releases the input file', async () => {
    const ids = Array.from({ length: 40 }, (_, n) => `${AWKWARD_TEXTS[n % AWKWARD_TEXTS.length]}${n}`);
    const created = await createBatchOf(
      api,
      ids.map((id) => chatLine(id, `Hi ${id}`)),
    );
    const path = `/v1/files/${created.input_file_id}`;
    const batch = await waitForBatch(api, created.id);
    const { output } = await assertEveryLineOnce(api, batch, ids);
    assert.deepEqual(
      output.map(({ custom_id }) => custom_id),
      ids,
    );
    const file = (await api.send('GET', `/v1/files/${batch.output_file_id}`)).json;
    assert.deepEqual([file.purpose, file.status], ['batch', 'processed']);
    assert.equal((await api.send('GET', path)).json.status, 'processed');
    assert.equal((await api.send('DELETE', path)).status, 200);
    assert.equal(await api.db.sql.$count(batchLines, eq(batchLines.batchId, batch.id)), 0);
  });

  it('a body that its endpoint rejects goes to the error file with the same error, whatever its custom_id', async () => {
    const body = { model: 'general-8b', messages: [{ role: 'nobody', content: 'Hi' }] };
    const lines = AWKWARD_TEXTS.map((id) => chatLine(id, '', body));
    const created = await createBatchOf(api, [...lines, chatLine('hot', '', { temperature: 9 })]);
    const batch = await waitForBatch(api, created.id);
    assert.deepEqual([batch.status, batch.output_file_id], ['completed', null]);
    const { errors } = await assertEveryLineOnce(api, batch, [...AWKWARD_TEXTS, 'hot']);
    const online = await api.send('POST', '/v1/chat/completions', { body });
    const { code, message } = online.json.error;
    for (const { custom_id, response, error } of errors.slice(0, -1)) {
      assert.deepEqual([response.status_code, response.body], [400, online.json], custom_id);
      assert.deepEqual(error, { code, message });
    }
    assert.equal(errors.at(-1).response.body.error.param, 'temperature');
  });

  it('retries a line while its engine is unavailable, and bills the last attempt only', async () => {
    let attempts = 0;
    api.engine.play((request) => {
      attempts += 1;
      if (attempts > 1) return stream(words('At last.'));
      return (async function* () {
        yield* words('Half').slice(0, 2);
        throw engineUnavailable(`not now: ${request.maxTokens}`, 1);
      })();
    });
    const batch = await waitForBatch(api, (await createBatchOf(api, [chatLine('a', 'Hi')])).id);
    const { output } = await assertEveryLineOnce(api, batch, ['a']);
    assert.equal(attempts, 2);
    assert.equal(output[0].response.body.choices[0].message.content, 'At last.');
    const all = await api.db.sql.select().from(usageRecords).where(eq(usageRecords.isBatch, true));
    assert.equal(all.filter(({ outcome }) => outcome !== 'completed').length, 0);
  });

  it('cancel: lines in progress end, finished lines stay, others get batch_cancelled', async () => {
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    api.engine.play(() =>
      (async function* () {
        calls += 1;
        if (calls > 1) await gate.promise;
        yield* words('Done.');
      })(),
    );
    const ids = ['1', '2', '3', '4', '5', '6', '7'];
    const created = await createBatchOf(
      api,
      ids.map((id) => chatLine(id, id)),
    );
    await waitForBatch(api, created.id, ({ request_counts }) => request_counts.completed === 1);
    const inUse = await api.send('DELETE', `/v1/files/${created.input_file_id}`);
    assertError(inUse, 409, 'file_in_use', 'file_id');
    const cancelling = await callBatches(api, 'POST', `/${created.id}/cancel`);
    assert.equal(cancelling.status, 'cancelling');
    assert.equal((await callBatches(api, 'POST', `/${created.id}/cancel`)).status, 'cancelling');
    // Longer than the interval of the watch.
    setTimeout(() => gate.resolve(), 800);
    const batch = await waitForBatch(api, created.id);
    assert.equal(batch.status, 'cancelled');
    const { output, errors } = await assertEveryLineOnce(api, batch, ids);
    assert.equal(output.length, 5);
    assert.deepEqual(
      new Set(errors.map(({ response, error }) => `${response} ${error.code}`)),
      new Set(['null batch_cancelled']),
    );
    assertError(await api.send('POST', `/v1/batches/${batch.id}/cancel`), 409, 'batch_not_cancellable', 'batch_id');
  });

  it('expiry keeps finished lines; the others get batch_expired', async () => {
    let calls = 0;
    api.engine.play((_request, signal) =>
      (async function* () {
        calls += 1;
        if (calls > 1) await Promise.race([untilAborted(signal), new Promise((resolve) => setTimeout(resolve, 1_500))]);
        yield* words('Done.');
      })(),
    );
    const ids = ['1', '2', '3', '4', '5', '6', '7'];
    const created = await createBatchOf(
      api,
      ids.map((id) => chatLine(id, id)),
    );
    await waitForBatch(api, created.id, ({ request_counts }) => request_counts.completed > 0);
    offsetMs = 25 * 3_600_000;
    const batch = await waitForBatch(api, created.id);
    assert.deepEqual([batch.status, batch.completed_at], ['expired', null]);
    const { errors } = await assertEveryLineOnce(api, batch, ids);
    assert.ok(errors.length > 0 && errors.every(({ error }) => error.code === 'batch_expired'));
  });

  it('runs lines with a common prefix one after the other', async () => {
    const seen: string[] = [];
    api.engine.play((request) => {
      seen.push(promptOf(request)[0] ?? '');
      return stream(words('Ok.'));
    });
    const lines = Array.from({ length: 24 }, (_, n) => chatLine(String(n), `${'abc'[n % 3]?.repeat(400)} ${n}`));
    const batch = await waitForBatch(api, (await createBatchOf(api, lines)).id);
    await assertEveryLineOnce(
      api,
      batch,
      lines.map((_, n) => String(n)),
    );
    const changes = seen.filter((letter, at) => at > 0 && letter !== seen[at - 1]).length;
    // Four lines run concurrently, so neighbours may swap at the two borders of the groups.
    assert.ok(changes <= 6, seen.join(''));
  });

  it('runs completions and embeddings', async () => {
    const prompt = { model: 'general-8b', prompt: ['One', 'Two'] };
    const completions = await createBatchOf(api, [batchLine('c', '/v1/completions', prompt)], '/v1/completions');
    const input = { model: 'embed-large-en-v1.5', input: ['A text.', 'Another text.'] };
    const lines = [
      batchLine('e', '/v1/embeddings', input),
      batchLine('b64', '/v1/embeddings', { ...input, encoding_format: 'base64' }),
      batchLine('ids', '/v1/embeddings', { ...input, input: [1, 2] }),
    ];
    const embeddings = await createBatchOf(api, lines, '/v1/embeddings');
    const [completed, embedded] = await Promise.all([
      waitForBatch(api, completions.id),
      waitForBatch(api, embeddings.id),
    ]);
    const { output } = await assertEveryLineOnce(api, completed, ['c']);
    assert.equal(output[0].response.body.choices.length, 2);
    const results = await assertEveryLineOnce(api, embedded, ['e', 'b64', 'ids']);
    const online = await api.send('POST', '/v1/embeddings', { body: input });
    assert.deepEqual(results.output[0].response.body, online.json);
    assert.equal(typeof results.output[1].response.body.data[0].embedding, 'string');
    assert.equal(results.errors[0].response.body.error.param, 'input');
  });

  it('counts batches and lines in the metrics', async () => {
    const read = async () => (await api.deps.metrics.metrics()).split('\n');
    const value = (lines: string[], name: string) =>
      Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length) ?? 0);
    const counted = [
      'quire_batches_total{status="completed"}',
      'quire_batch_lines_total{outcome="completed"}',
      'quire_batch_lines_total{outcome="failed"}',
      'quire_batch_line_retries_total',
    ];
    const before = await read();
    let attempts = 0;
    let during: string[] = [];
    api.engine.play(() =>
      (async function* () {
        during = await read();
        attempts += 1;
        if (attempts === 1) throw engineUnavailable('not now', 0);
        yield* words('Done.');
      })(),
    );
    const { id } = await createBatchOf(api, [chatLine('a', 'Hi'), chatLine('b', '', { temperature: 9 })]);
    await waitForBatch(api, id);
    const after = await read();
    assert.deepEqual(
      counted.map((name) => value(after, name) - value(before, name)),
      [1, 1, 1, 1],
    );
    assert.equal(value(during, 'quire_batches_running{status="in_progress"}'), 1);
    assert.ok(value(during, 'quire_batch_lines_in_flight') >= 1);
    assert.equal(value(after, 'quire_batches_running{status="in_progress"}'), 0);
    assert.equal(value(after, 'quire_batch_lines_in_flight'), 0);
  });

  it('fails a line with 404 model_not_found when its model was removed after the validation', async () => {
    const { get } = api.deps.models;
    let isRemoved = false;
    Object.assign(api.deps.models, {
      get: (model: string) => (isRemoved && model === 'general-70b' ? undefined : get.call(api.deps.models, model)),
    });
    api.engine.play(() => {
      isRemoved = true;
      return stream(words('Done.'));
    });
    const lines = [chatLine('first', 'Hi'), ...['a', 'b', 'c', 'd'].map((n) => chatLine(n, `Hi ${n}`))];
    const created = await createBatchOf(api, [...lines, chatLine('late', 'Hi', { model: 'general-70b' })]);
    const batch = await waitForBatch(api, created.id);
    Object.assign(api.deps.models, { get });
    const { errors } = await assertEveryLineOnce(api, batch, ['first', 'a', 'b', 'c', 'd', 'late']);
    assert.deepEqual([batch.status, errors.length], ['completed', 1]);
    assert.deepEqual([errors[0].custom_id, errors[0].response.status_code], ['late', 404]);
    assert.equal(errors[0].error.code, 'model_not_found');
    assert.equal(errors[0].response.body.error.param, 'model');
  });

  it('applies the guardrail policy of the organization to each line', async () => {
    const { key } = await api.makeKey({ organization: 'guarded' });
    const policy = { name: 'no bombs', topic_deny_list: [{ topic: 'bomb', action: 'block' }] };
    assert.equal((await api.send('POST', '/v1/guardrail-policies', { key, body: policy })).status, 200);
    const target = { url: api.url, key };
    const { id } = await createBatchOf(target, [chatLine('bad', 'a bomb'), chatLine('good', 'a cake')]);
    const { output, errors } = await assertEveryLineOnce(target, await waitForBatch(target, id), ['bad', 'good']);
    assert.equal(output[0].custom_id, 'good');
    assert.deepEqual([errors[0].response.status_code, errors[0].error.code], [400, 'content_filtered']);
    assert.ok(errors[0].response.body.error.policy_id);
  });

  it('runs lines with the permissions of the key that created the batch', async () => {
    const { key } = await api.makeKey({ models: ['general-70b'] });
    const target = { url: api.url, key };
    const { id } = await createBatchOf(target, [chatLine('a', 'Hi')]);
    const { errors } = await assertEveryLineOnce(target, await waitForBatch(target, id), ['a']);
    assert.deepEqual([errors[0].response.status_code, errors[0].error.code], [403, 'insufficient_scope']);
  });

  it('expires a batch whose validation did not end in time', async () => {
    offsetMs = 25 * 3_600_000;
    const batch = await waitForBatch(api, (await createBatchOf(api, [chatLine('a', 'Hi')])).id);
    assert.deepEqual([batch.status, batch.request_counts.total, batch.error_file_id], ['expired', 0, null]);
    assert.equal((await api.send('DELETE', `/v1/files/${batch.input_file_id}`)).status, 200);
  });

  it('does nothing when the job of an ended batch runs again', async () => {
    const { id } = await createBatchOf(api, [chatLine('a', 'Hi')]);
    await waitForBatch(api, id);
    const [row] = await api.db.sql.select().from(batches).where(eq(batches.id, id));
    const worker = createBatchWorker(api.deps, 1);
    const job = { batchId: id, organizationId: row?.organizationId ?? '', range: 0 };
    await worker.runBatch(job, new AbortController().signal);
    await worker.runRange(job, new AbortController().signal);
    assert.deepEqual((await api.db.sql.select().from(batches).where(eq(batches.id, id)))[0], row);
  });
});
