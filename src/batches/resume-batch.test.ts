import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { before, beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { BATCH_JOBS, InlineJobs } from '../../test/batch-jobs.ts';
import { assertEveryLineOnce, chatLine, createBatchOf } from '../../test/batches.ts';
import { until, withDeadline } from '../../test/deadline.ts';
import { assertError, useApi } from '../../test/harness.ts';
import { stream, untilAborted, words } from '../../test/scripted-engine.ts';
import { usageRecords } from '../billing/tables.ts';
import type { Deps } from '../deps.ts';
import { engineUnavailable } from '../errors.ts';
import { files } from '../files/tables.ts';
import { newId } from '../lib/ids.ts';
import type { Reservation } from '../lib/reservation.ts';
import { finalizeBatch } from './finalize-batch.ts';
import { insertLines } from './line-store.ts';
import { selectBatchOfJob } from './store.ts';
import { batches, batchLines } from './tables.ts';

const never = new AbortController().signal;

// No process takes jobs from the queue here: each test runs the handler, and stops or fails it where a crash would.
describe('a batch that is run again', () => {
  const api = useApi({ jobs: BATCH_JOBS });
  /** Reservations of credits, and how often each was settled. */
  const settled: number[][] = [];
  const reserve = (): Reservation => {
    const amounts: number[] = [];
    settled.push(amounts);
    const charge = { processId: 'p', hasBalance: true, budgetPeriod: null };
    return { grantedMicros: 1_000, charge, settle: (micros) => void amounts.push(micros) };
  };
  let jobs = new InlineJobs();
  const run = async (id: string, changes: Partial<Deps> = {}, signal = never) => {
    const worker = jobs.createWorker({ ...api.deps, ...changes });
    await worker.runBatch({ batchId: id }, signal);
    await jobs.runAll(worker, signal);
  };
  const create = async (...ids: string[]): Promise<string> =>
    (
      await createBatchOf(
        api,
        ids.map((id) => chatLine(id, `Say ${id}`)),
      )
    ).id;
  const get = async (id: string) => (await api.send('GET', `/v1/batches/${id}`)).json;
  let organizationId: string;
  before(async () => {
    organizationId = (await api.makeKey()).organizationId;
  });
  beforeEach(() => {
    jobs = new InlineJobs();
    settled.length = 0;
    api.engine.calls.length = 0;
    api.engine.play(() => stream(words('Done.')));
  });

  it('repeats no line with a result, and records its usage once', async () => {
    const id = await create('a', 'b', 'c');
    const crash = () => Promise.reject(new Error('the process ends here'));
    await assert.rejects(run(id, { recordUsage: crash }), /ends here/);
    const done = (await get(id)).request_counts.completed;
    assert.ok(done > 0);
    api.engine.calls.length = 0;
    const recorded: string[] = [];
    const recordUsage: Deps['recordUsage'] = (record, reservation) => {
      recorded.push(record.id);
      return api.deps.recordUsage(record, reservation);
    };
    await run(id, { recordUsage });
    assert.equal(api.engine.calls.length, 3 - done);
    assert.ok(api.engine.calls.every(({ request }) => request.priority === 'batch'));
    assert.equal(recorded.length, 3);
    const { output } = await assertEveryLineOnce(api, await get(id), ['a', 'b', 'c']);
    for (const { response } of output) {
      assert.equal(await api.db.sql.$count(usageRecords, eq(usageRecords.requestId, response.request_id)), 1);
    }
  });

  it('records usage that a crash left behind while the files were written', async () => {
    const id = await create('a', 'b');
    const crash = () => Promise.reject(new Error('the process ends here'));
    await assert.rejects(run(id, { recordUsage: crash }), /ends here/);
    await run(id, { blobs: { ...api.deps.blobs, put: crash } }).catch(() => {});
    assert.equal((await get(id)).status, 'finalizing');
    const [line] = await api.db.sql.select().from(batchLines).where(eq(batchLines.batchId, id));
    const [record] = await api.db.sql
      .select()
      .from(usageRecords)
      .where(eq(usageRecords.requestId, line?.requestId ?? ''));
    await api.db.sql.delete(usageRecords).where(eq(usageRecords.id, record?.id ?? ''));
    const left = await api.db.sql.$count(usageRecords);
    await api.db.sql
      .update(batchLines)
      .set({ unrecordedUsage: [record as never] })
      .where(eq(batchLines.id, line?.id ?? ''));
    await run(id);
    assert.equal((await get(id)).status, 'completed');
    assert.equal(await api.db.sql.$count(usageRecords), left + 1);
  });

  it('replaces the lines of a validation that was interrupted, and marks its file as processed again', async () => {
    const id = await create('a', 'b');
    const { input_file_id } = await get(id);
    const place = { batchId: id, start: 0, bytes: 1, weight: 1, orderKey: '' };
    const stale = [1, 9].map((line) => ({ ...place, line, id: newId('batchLine'), customId: `stale ${line}` }));
    await insertLines(api.db.sql, stale);
    await api.db.sql.update(files).set({ status: 'error' }).where(eq(files.id, input_file_id));
    await run(id);
    await assertEveryLineOnce(api, await get(id), ['a', 'b']);
    assert.equal((await api.send('GET', `/v1/files/${input_file_id}`)).json.status, 'processed');
  });

  it('settles every reservation once: of lines that end, are retried, or are stopped with the process', async () => {
    const id = await create('a', 'b');
    const stopping = new AbortController();
    let calls = 0;
    api.engine.play((_request, signal) =>
      (async function* () {
        calls += 1;
        yield* words('Half').slice(0, 2);
        if (calls === 1) throw engineUnavailable('not now', 0);
        if (calls === 3) {
          stopping.abort(new Error('the process stops'));
          await untilAborted(signal);
        }
        yield* words('Done.').slice(2);
      })(),
    );
    const recordUsage: Deps['recordUsage'] = async (_record, reservation) => reservation?.settle(7);
    await assert.rejects(run(id, { reserve, recordUsage }, stopping.signal), /process stops/);
    // The check of the credits before a call is a reservation, too.
    assert.deepEqual(
      settled.filter((amounts) => amounts.length === 0),
      [],
    );
    assert.equal(settled.flat().filter((micros) => micros > 0).length, 1, 'one line has ended');
    api.engine.play(() => stream(words('Done.')));
    await run(id);
    assert.equal((await get(id)).status, 'completed');
  });

  for (const { name, code } of [
    { name: 'is cancelled', code: 'batch_cancelled' },
    { name: 'expires', code: 'batch_expired' },
    { name: 'is stopped with its process', code: null },
  ]) {
    it(`ends at once when it ${name} while lines wait for a retry`, async () => {
      const id = await create('a', 'b');
      let offsetMs = 0;
      const stopping = new AbortController();
      api.engine.play(() => {
        throw engineUnavailable('not for a while', 60);
      });
      const running = run(id, { now: () => Date.now() + offsetMs }, stopping.signal);
      await until(async () => api.engine.calls.length > 0);
      if (code === 'batch_cancelled') await api.send('POST', `/v1/batches/${id}/cancel`);
      if (code === 'batch_expired') offsetMs = 25 * 3_600_000;
      if (code === null) stopping.abort(new Error('the process stops'));
      const ended = withDeadline('the end of the run', running);
      if (code === null) {
        await assert.rejects(ended, /process stops/);
        api.engine.play(() => stream(words('Done.')));
        await run(id);
      } else await ended;
      const { output, errors } = await assertEveryLineOnce(api, await get(id), ['a', 'b']);
      assert.equal(output.length, code === null ? 2 : 0);
      for (const { error } of errors) assert.equal(error.code, code);
    });
  }

  it('shows the time of each phase', async () => {
    const id = await create('a');
    await run(id);
    const names = [
      'createdAt',
      'inProgressAt',
      'finalizingAt',
      'completedAt',
      'failedAt',
      'expiredAt',
      'cancellingAt',
      'cancelledAt',
    ];
    const times = Object.fromEntries(names.map((name, n) => [name, new Date((1_000 + n) * 1_000)]));
    await api.db.sql.update(batches).set(times).where(eq(batches.id, id));
    const batch = await get(id);
    const shown = [
      'created_at',
      'in_progress_at',
      'finalizing_at',
      'completed_at',
      'failed_at',
      'expired_at',
      'cancelling_at',
      'cancelled_at',
    ];
    assert.deepEqual(
      shown.map((name) => batch[name]),
      names.map((_, n) => 1_000 + n),
    );
  });

  it('cannot be cancelled once it has expired', async () => {
    const id = await create('a');
    await api.db.sql.update(batches).set({ status: 'in_progress', expiredAt: new Date() }).where(eq(batches.id, id));
    assertError(await api.send('POST', `/v1/batches/${id}/cancel`), 409, 'batch_not_cancellable', 'batch_id');
  });

  it('does not write files while a line has no result, nor keep files of a batch that has ended meanwhile', async () => {
    const id = await create('a');
    await run(id, { blobs: { ...api.deps.blobs, put: () => Promise.reject(new Error('the store is away')) } }).catch(
      () => {},
    );
    const batch = await selectBatchOfJob(api.db.sql, id);
    assert.ok(batch !== null && batch.status === 'finalizing' && batch.organizationId === organizationId);
    await api.db.sql.update(batches).set({ completedLines: 0 }).where(eq(batches.id, id));
    await assert.rejects(finalizeBatch(api.deps, batch, never), /have no result/);
    await api.db.sql.update(batches).set({ completedLines: 1, status: 'cancelled' }).where(eq(batches.id, id));
    const blobs = () =>
      readdirSync(api.blobFolder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const stored = blobs().length;
    await assert.rejects(finalizeBatch(api.deps, batch, never), /ended by another process/);
    assert.equal(blobs().length, stored);
  });

  it('writes every result once and in order when there are more than one read of their sizes takes', async () => {
    const { id } = await createBatchOf(api, [chatLine('line 1', 'Hi')]);
    const lines = 2_001;
    const results = (status: 'completed' | 'failed', from: number) =>
      Array.from({ length: lines }, (_, index) => from + index).map((line) => ({
        ...{ batchId: id, line, id: newId('batchLine'), customId: `line "${line}"`, start: 0, bytes: 1, weight: 1 },
        ...{ orderKey: '', status, statusCode: 200, requestId: 'req_1', body: '{}', error: null },
      }));
    for (const rows of [results('completed', 1), results('failed', lines + 1)]) {
      for (let from = 0; from < rows.length; from += 1_000) {
        await api.db.sql.insert(batchLines).values(rows.slice(from, from + 1_000));
      }
    }
    const counts = { totalLines: 2 * lines, completedLines: lines, failedLines: lines };
    await api.db.sql
      .update(batches)
      .set({ status: 'finalizing', ...counts })
      .where(eq(batches.id, id));
    const batch = await selectBatchOfJob(api.db.sql, id);
    assert.ok(batch !== null);
    await finalizeBatch(api.deps, batch, never);
    const { output_file_id, error_file_id } = await get(id);
    for (const [file, first] of [
      [output_file_id, 1],
      [error_file_id, lines + 1],
    ] as const) {
      const { text } = await api.send('GET', `/v1/files/${file}/content`);
      const customIds = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).custom_id);
      assert.deepEqual(
        customIds,
        Array.from({ length: lines }, (_, index) => `line "${first + index}"`),
      );
    }
  });

  it('rejects lone surrogates in a body as its endpoint does', async () => {
    const { id } = await createBatchOf(api, [chatLine('a', 'Hi').replace('"Hi"', '"\\ud800"')]);
    await run(id);
    const { errors } = await assertEveryLineOnce(api, await get(id), ['a']);
    assert.deepEqual([errors[0].response.status_code, errors[0].error.code], [400, 'invalid_value']);
  });
});
