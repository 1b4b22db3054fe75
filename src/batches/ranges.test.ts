import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { BATCH_JOBS, InlineJobs, workBatches } from '../../test/batch-jobs.ts';
import { assertEveryLineOnce, callBatches, chatLine, createBatchOf, waitForBatch } from '../../test/batches.ts';
import { until, withDeadline } from '../../test/deadline.ts';
import { useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { holdStatement } from '../../test/support/hold-statement.ts';
import { usageRecords } from '../billing/tables.ts';
import type { Deps } from '../deps.ts';
import { engineUnavailable } from '../errors.ts';
import type { Reservation } from '../lib/reservation.ts';
import { RUN_RANGE } from './batch-job.ts';
import { createBatchWorker } from './batch-worker.ts';
import { splitRanges } from './plan-ranges.ts';
import { hasRange } from './range-store.ts';
import { batches, batchLines, batchRanges } from './tables.ts';

const MB = 1024 * 1024;
const never = new AbortController().signal;
const idsOf = (count: number) => Array.from({ length: count }, (_, n) => `line ${n}`);

describe('splitRanges', () => {
  it('keeps the order, and bounds the lines and the memory of a range', () => {
    const lines = [...Array(17).fill(1), 3 * MB, 2 * MB, 9 * MB, 1].map((weight, n) => ({ n, weight }));
    const ranges = splitRanges(lines);
    assert.deepEqual(ranges.flat(), lines);
    assert.deepEqual(
      ranges.map(({ length }) => length),
      [16, 2, 1, 1, 1],
    );
    assert.deepEqual(splitRanges([]), []);
  });
});

// Two workers are two processes on one database; the tests run their jobs.
describe('ranges of a batch', () => {
  const api = useApi({ jobs: BATCH_JOBS });
  let jobs: InlineJobs;
  /** Reservations of credits, and how often each was settled. */
  let settled: number[][];
  const reserve = (): Reservation => {
    const amounts: number[] = [];
    settled.push(amounts);
    const charge = { processId: 'p', hasBalance: false, budgetPeriod: null };
    return { grantedMicros: 1_000, charge, settle: (micros) => void amounts.push(micros) };
  };
  const createWorker = (changes: Partial<Deps> = {}, concurrency = 32) =>
    jobs.createWorker({ ...api.deps, reserve, ...changes }, concurrency);
  /** Creates a batch with planned ranges; the job of the first one waits. */
  const plan = async (lines: number): Promise<string> => {
    const { id } = await createBatchOf(
      api,
      idsOf(lines).map((name) => chatLine(name, `Say ${name}`)),
    );
    await createWorker().runBatch({ batchId: id }, never);
    assert.equal(jobs.waiting.length, 1);
    return id;
  };
  /** Takes the next job from the queue. */
  const take = () => jobs.waiting.shift() ?? assert.fail('no job waits');
  const get = (id: string) => callBatches(api, 'GET', `/${id}`);
  const countCalls = () => api.engine.calls.length;
  const assertBilledOnce = async (id: string, lines: number) => {
    const { output } = await assertEveryLineOnce(api, await get(id), idsOf(lines));
    for (const { response } of output) {
      assert.equal(await api.db.sql.$count(usageRecords, eq(usageRecords.requestId, response.request_id)), 1);
    }
    assert.deepEqual(
      settled.filter(({ length }) => length === 0),
      [],
      'every reservation is settled',
    );
    return output;
  };
  beforeEach(() => {
    jobs = new InlineJobs();
    settled = [];
    api.engine.calls.length = 0;
    api.engine.play(() => stream(words('Done.')));
  });

  it('run in several processes at the same time, and one job finalizes the batch', async () => {
    const id = await plan(40);
    const held = Promise.withResolvers<void>();
    api.engine.play(async function* () {
      await held.promise;
      yield* stream(words('Done.'));
    });
    const running: Promise<void>[] = [];
    for (const worker of [createWorker(), createWorker(), createWorker()]) {
      await until(async () => jobs.waiting.length > 0);
      running.push(take()(worker, never));
    }
    await until(async () => countCalls() === 40);
    assert.equal(jobs.waiting.length, 0, 'the last range has no next one');
    held.resolve();
    await Promise.all(running);
    assert.deepEqual([(await get(id)).status, jobs.waiting.length], ['finalizing', 1]);
    await jobs.runAll(createWorker());
    await assertBilledOnce(id, 40);
  });

  it('run no line of a batch that a process whose clock is ahead has ended as expired', async () => {
    const id = await plan(3);
    await api.db.sql.update(batches).set({ expiredAt: new Date() }).where(eq(batches.id, id));
    await take()(createWorker(), never);
    assert.equal(countCalls(), 0);
  });

  it('two last ranges that end at the same time enqueue one finalization', async (t) => {
    const id = await plan(20);
    const worker = createWorker();
    const ending = holdStatement(t, /^delete from "batch_ranges"/, { at: 'result' });
    const first = take()(worker, never);
    await ending.reached();
    await take()(createWorker(), never);
    assert.equal(jobs.waiting.length, 0, 'the first range has not ended');
    ending.release();
    await first;
    assert.equal(jobs.waiting.length, 1);
    await jobs.runAll(worker);
    await assertBilledOnce(id, 20);
  });

  it('late results of a process that lost its range are neither stored nor billed', async (t) => {
    const id = await plan(3);
    const records = () => api.db.sql.$count(usageRecords);
    const before = await records();
    const job = take();
    const saving = holdStatement(t, /^\s*with held/);
    const late = job(createWorker(), never);
    await saving.reached();
    assert.equal(countCalls(), 3);
    // Another process takes the range over, and its calls fail for now: no line has a result.
    const stopping = new AbortController();
    api.engine.play(() => {
      stopping.abort(new Error('the process stops'));
      throw engineUnavailable('not now', 0);
    });
    await assert.rejects(job(createWorker(), stopping.signal), /process stops/);
    saving.release();
    await assert.rejects(late, /taken over/);
    assert.equal((await get(id)).request_counts.completed, 0);
    api.engine.play(() => stream(words('Again.')));
    await job(createWorker(), never);
    await jobs.runAll(createWorker());
    const output = await assertBilledOnce(id, 3);
    for (const { response } of output) assert.equal(response.body.choices[0].message.content, 'Again.');
    assert.equal(await records(), before + 3);
  });

  it('a process that takes a range over runs no line again whose result is being stored', async (t) => {
    const id = await plan(20);
    const job = take();
    const stored = holdStatement(t, /^\s*with held/, { at: 'result' });
    const first = job(createWorker(), never);
    await stored.reached();
    await job(createWorker(), never);
    assert.equal(countCalls(), 16);
    assert.equal(jobs.waiting.length, 1, 'the next range is enqueued once');
    stored.release();
    await assert.rejects(first, /taken over/);
    await jobs.runAll(createWorker());
    await assertBilledOnce(id, 20);
  });

  for (const { name, status, code } of [
    { name: 'is cancelled', status: 'cancelled', code: 'batch_cancelled' },
    { name: 'expires', status: 'expired', code: 'batch_expired' },
  ]) {
    for (const isStarted of [true, false]) {
      const when = isStarted ? 'while some ranges run' : 'before any has started';
      it(`end when the batch ${name} ${when}: lines in progress get their results`, async () => {
        const id = await plan(40);
        let offsetMs = 0;
        const worker = createWorker({ now: () => Date.now() + offsetMs });
        const held = Promise.withResolvers<void>();
        api.engine.play(async function* () {
          await held.promise;
          yield* stream(words('Done.'));
        });
        const running = isStarted ? take()(worker, never) : null;
        if (isStarted) await until(async () => countCalls() === 16);
        if (status === 'cancelled') await callBatches(api, 'POST', `/${id}/cancel`);
        else offsetMs = 25 * 3_600_000;
        // The job of the next range, which another process has taken before it learned of the end.
        if (isStarted) await take()(worker, never);
        if (isStarted) assert.notEqual((await get(id)).status, status);
        held.resolve();
        await running;
        await jobs.runAll(worker);
        assert.equal((await get(id)).status, status);
        assert.equal(await hasRange(api.db.sql, id), false);
        const { output, errors } = await assertEveryLineOnce(api, await get(id), idsOf(40));
        assert.deepEqual([output.length, countCalls()], isStarted ? [16, 16] : [0, 0]);
        for (const { error, response } of errors) assert.deepEqual([error.code, response], [code, null]);
      });
    }
  }

  it('a batch that an earlier version has begun goes on with the lines that have no result', async () => {
    const id = await plan(20);
    await jobs.runNext(createWorker());
    await api.db.sql.delete(batchRanges).where(eq(batchRanges.batchId, id));
    const worker = createWorker();
    await worker.runBatch({ batchId: id }, never);
    await jobs.runAll(worker);
    assert.equal(countCalls(), 20);
    await assertBilledOnce(id, 20);
  });

  it('a process with many lines of a batch that wait for retries leaves the next range to others', async () => {
    const id = await plan(40);
    const stopping = new AbortController();
    api.engine.play(() => {
      throw engineUnavailable('not for a while', 60);
    });
    const worker = createWorker({}, 15);
    const running = take()(worker, stopping.signal);
    await until(async () => countCalls() === 16);
    await take()(worker, never);
    assert.equal(countCalls(), 16);
    api.engine.play(() => stream(words('Done.')));
    await jobs.runAll(createWorker());
    assert.equal((await get(id)).request_counts.completed, 24);
    stopping.abort(new Error('the process stops'));
    await assert.rejects(running, /process stops/);
  });

  it('an organization is busy in a process while lines of a range wait for permits', async () => {
    await plan(18);
    const ends: (() => void)[] = [];
    api.engine.play(async function* () {
      await new Promise<void>((resolve) => ends.push(resolve));
      yield* stream(words('Done.'));
    });
    const woken: string[] = [];
    const queue = { ...jobs.queue, wake: ({ name }: { name: string }) => void woken.push(name) };
    const worker = createBatchWorker({ ...api.deps, jobs: queue }, 15);
    const { organizationId } = await api.makeKey();
    assert.deepEqual(worker.busyOrganizations(), []);
    const running = take()(worker, never);
    assert.deepEqual(worker.busyOrganizations(), [organizationId]);
    await until(async () => ends.length === 14);
    assert.deepEqual([worker.busyOrganizations(), woken], [[organizationId], []]);
    for (const end of ends.splice(0, 2)) end();
    await until(async () => ends.length === 14);
    assert.deepEqual([worker.busyOrganizations(), woken], [[], [RUN_RANGE.name]]);
    api.engine.play(() => stream(words('Done.')));
    for (const end of ends) end();
    await withDeadline('the end of the range', running);
    await jobs.runAll(worker);
  });
});

describe('batches of several organizations in one process', () => {
  const api = useApi({ jobs: BATCH_JOBS });

  it('take turns: a small one ends while a large one of another organization runs', async () => {
    api.engine.play(() => stream(words('Done.')));
    const other = { url: api.url, key: (await api.makeKey({ organization: 'other' })).key };
    const large = await createBatchOf(
      api,
      idsOf(200).map((name) => chatLine(name, name)),
    );
    const small = await createBatchOf(
      other,
      idsOf(3).map((name) => chatLine(name, name)),
    );
    workBatches(api.deps, 2);
    await waitForBatch(other, small.id);
    const [row] = await api.db.sql.select().from(batches).where(eq(batches.id, large.id));
    assert.equal(row?.status, 'in_progress');
    assert.ok((await api.db.sql.$count(batchLines, eq(batchLines.status, 'pending'))) > 0);
    await assertEveryLineOnce(api, await waitForBatch(api, large.id), idsOf(200));
    await assertEveryLineOnce(other, await get(other, small.id), idsOf(3));
  });
  const get = (target: { url: string; key: string }, id: string) => callBatches(target, 'GET', `/${id}`);
});
