import type { Deps } from '../deps.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import { runPeriodically } from '../lib/run-periodically.ts';
import { restoreCaller } from '../lib/stored-caller.ts';
import { type BatchQueue, enqueueBatch, enqueueRange, type RangeJob } from './batch-job.ts';
import { countUnrunLines, endLines } from './end-lines.ts';
import type { BatchLineDeps } from './endpoints.ts';
import { requireInputFile } from './input-file.ts';
import type { LineLoad } from './line-load.ts';
import { LineReader } from './line-reader.ts';
import { type PendingLine, selectPendingLines } from './line-store.ts';
import { deleteRange, hasRange, type RangeRun, startRun } from './range-store.ts';
import { ResultWriter, recordLeftUsage } from './result-writer.ts';
import { type LineContext, runLine } from './run-line.ts';
import { type BatchRow, lockBatch, selectBatchOfJob, selectBatchStatus } from './store.ts';

/** Dependencies of running ranges. */
export type RangeDeps = BatchLineDeps &
  Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> & { jobs: BatchQueue; load: LineLoad };

/** A run of a range, with its batch and its lines in the order in which they run. */
interface Run extends RangeRun {
  batch: BatchRow;
  lines: readonly number[];
  /** All lines have had a permit. */
  onStarted(): void;
}

/** Interval of the check for a cancellation, which any process may have received, and for the expiry. */
const WATCH_MS = 500;
/** Pause before a range is offered again that this process could not take. */
const BUSY_SECONDS = 2;

/**
 * Runs the lines of a range that have no result, until all have one, the batch is cancelled or it expires. Lines in
 * progress then end; the others stay pending. The last range of a batch ends its lines and enqueues its finalization.
 */
export async function runRange(deps: RangeDeps, job: RangeJob, signal: AbortSignal): Promise<void> {
  const { batchId, organizationId } = job;
  // Counted before the first statement: the queue looks for the next job now.
  const onStarted = deps.load.rangeWaits(organizationId);
  try {
    if (!deps.load.hasRoom(batchId)) {
      await deps.db.sql.transaction((sql) => enqueueRange(sql, deps.jobs, job, BUSY_SECONDS));
      return;
    }
    const started = await startRange(deps, job);
    if (started === null) return;
    if (started.run > 1) await recordLeftUsage(deps, batchId, started.lines);
    if (isRunning(started.batch, deps.now())) await runUntilStopped(deps, { ...started, onStarted }, signal);
    signal.throwIfAborted();
    await endRange(deps, started);
  } finally {
    onStarted();
  }
}

const isRunning = (
  { status, expiresAt, expiredAt }: Pick<BatchRow, 'status' | 'expiresAt' | 'expiredAt'>,
  at: number,
) => status === 'in_progress' && expiredAt === null && at < expiresAt.getTime();

/** Starts a run. The first one enqueues the next range, at the end of the queue. Null: the range has ended. */
function startRange({ db, jobs, now }: RangeDeps, job: RangeJob): Promise<Omit<Run, 'onStarted'> | null> {
  const { batchId, range } = job;
  return db.sql.transaction(async (sql) => {
    const started = await startRun(sql, batchId, range);
    const batch = await selectBatchOfJob(sql, batchId);
    if (started === null || batch === null) return null;
    const next = { ...job, range: range + 1 };
    if (started.run === 1 && isRunning(batch, now()) && (await hasRange(sql, batchId, next.range))) {
      await enqueueRange(sql, jobs, next);
    }
    return { batch, batchId, range, ...started };
  });
}

async function runUntilStopped(deps: RangeDeps, run: Run, signal: AbortSignal): Promise<void> {
  const stopping = new AbortController();
  const watch = runPeriodically(WATCH_MS, 'watch batch', () => watchBatch(deps, run.batch, stopping), deps.logger);
  try {
    await runPendingLines(deps, run, { signal, stop: AbortSignal.any([signal, stopping.signal]) });
  } finally {
    await watch.stop();
  }
}

/** Stops a batch that is not running any more. */
async function watchBatch(
  { db, now }: RangeDeps,
  { id, expiresAt }: BatchRow,
  stopping: AbortController,
): Promise<void> {
  const isOver = now() >= expiresAt.getTime() || (await selectBatchStatus(db.sql, id)) !== 'in_progress';
  if (isOver) stopping.abort(new Error('the batch has stopped'));
}

async function runPendingLines(
  deps: RangeDeps,
  run: Run,
  { signal, stop }: Pick<LineContext, 'signal' | 'stop'>,
): Promise<void> {
  const { batch, batchId, lines } = run;
  const file = await requireInputFile(deps, batch);
  const order = new Map(lines.map((line, at) => [line, at]));
  const rank = ({ line }: PendingLine) => order.get(line) ?? 0;
  const pending = (await selectPendingLines(deps.db.sql, batchId, lines)).toSorted((a, b) => rank(a) - rank(b));
  const reader = new LineReader(deps, file, pending);
  const writer = new ResultWriter(deps, run);
  const { permits } = deps.load;
  let unstarted = pending.length;
  const onStart = () => {
    unstarted -= 1;
    if (unstarted === 0) run.onStarted();
  };
  const context: LineContext = {
    ...{ deps, permits, batch, reader, signal, stop, onStart },
    caller: restoreCaller(batch.caller),
  };
  const runOne = async (line: PendingLine) => {
    const result = await runLine(context, line)
      .catch((error: unknown) => {
        // A line that was stopped stays pending.
        if (stop.aborted) return null;
        throw error;
      })
      .finally(deps.load.addLine(batchId));
    if (result !== null) await writer.add(result);
  };
  try {
    // All at once: permits bound the lines that run.
    await forEachConcurrent(pending, pending.length, runOne, stop);
  } finally {
    await writer.flush();
  }
}

/** Ends a range, and with the last one the lines of the batch. Throws when another run has taken the range over. */
async function endRange(deps: RangeDeps, run: Omit<Run, 'onStarted'>): Promise<void> {
  const { batchId, batch } = run;
  const { organizationId } = batch;
  const unrun = await deps.db.sql.transaction(async (sql) => {
    if (!(await deleteRange(sql, run))) throw new Error(`range ${run.range} of ${batchId} was taken over`);
    const current = await lockBatch(sql, organizationId, batchId);
    const ended = current && (await endLines(sql, current, new Date(deps.now())));
    if (ended !== null) await enqueueBatch(sql, deps.jobs, { batchId, organizationId });
    return ended;
  });
  countUnrunLines(deps, unrun);
}
