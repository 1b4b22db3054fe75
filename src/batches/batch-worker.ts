import type { JobHandler } from '../queue/job-queue.ts';
import { type RangeJob, RUN_RANGE } from './batch-job.ts';
import { countUnrunLines, endLines } from './end-lines.ts';
import { finalizeBatch } from './finalize-batch.ts';
import { LineLoad } from './line-load.ts';
import { batchMetrics } from './metrics.ts';
import { planRanges } from './plan-ranges.ts';
import { type RangeDeps, runRange } from './run-range.ts';
import type { BatchStatus } from './schema.ts';
import { type BatchRow, lockBatch, selectBatchOfJob } from './store.ts';
import { validateBatch } from './validate-batch.ts';

/** Dependencies of background batches. */
export type BatchWorkerDeps = Omit<RangeDeps, 'load'>;

/** How one process runs batches. */
export interface BatchWorker {
  /** Handler of `RUN_BATCH`. */
  runBatch: JobHandler<{ batchId: string }>;
  /** Handler of `RUN_RANGE`. */
  runRange: JobHandler<RangeJob>;
  /** Organizations whose ranges other processes should take. */
  busyOrganizations(): string[];
}

/** Creates the handlers of the jobs of batches. `concurrency`: lines that this process runs at the same time. */
export function createBatchWorker(deps: BatchWorkerDeps, concurrency: number): BatchWorker {
  const load = new LineLoad(concurrency, { metrics: deps.metrics, onChange: () => deps.jobs.wake(RUN_RANGE) });
  return {
    runBatch: ({ batchId }, signal) => runBatch(deps, batchId, signal),
    runRange: (job, signal) => runRange({ ...deps, load }, job, signal),
    busyOrganizations: () => load.busyOrganizations(),
  };
}

/**
 * Takes a batch to its ranges, or from the end of its lines to its own. Every step starts where a crash or another
 * process has left it.
 */
async function runBatch(deps: BatchWorkerDeps, batchId: string, signal: AbortSignal): Promise<void> {
  for (let hasNext = true; hasNext; ) {
    signal.throwIfAborted();
    const batch = await selectBatchOfJob(deps.db.sql, batchId);
    const run = batch === null ? null : nextStep(batch);
    if (batch === null || run === null) return;
    const ended = batchMetrics(deps.metrics).stepStarted(batch.status);
    hasNext = await run(deps, batch, signal).finally(ended);
  }
}

/** Returns whether the batch has a next step in this job. */
type Step = (deps: BatchWorkerDeps, batch: BatchRow, signal: AbortSignal) => Promise<boolean>;

/** The next step of a batch; null for one that has ended. */
function nextStep({ status, expiredAt }: BatchRow): Step | null {
  if (status === 'validating') return validate;
  if (status === 'in_progress' && expiredAt === null) return planRanges;
  if (status === 'cancelling') return endCancelled;
  return LACK_FILES.has(status) ? finalize : null;
}

async function validate(deps: BatchWorkerDeps, batch: BatchRow, signal: AbortSignal): Promise<true> {
  await validateBatch(deps, batch, signal);
  return true;
}

/** Fails the lines that were not run, and finalizes the batch, unless ranges still run: the last of them does it. */
async function endCancelled(deps: BatchWorkerDeps, batch: BatchRow, signal: AbortSignal): Promise<boolean> {
  const { db, now } = deps;
  const unrun = await db.sql.transaction(async (sql) => {
    const current = await lockBatch(sql, batch.organizationId, batch.id);
    return current && endLines(sql, current, new Date(now()));
  });
  countUnrunLines(deps, unrun);
  return unrun !== null && finalize(deps, batch, signal);
}

async function finalize(deps: BatchWorkerDeps, batch: BatchRow, signal: AbortSignal): Promise<false> {
  await finalizeBatch(deps, batch, signal);
  deps.logger.info({ batchId: batch.id, lines: batch.totalLines }, 'batch ended');
  return false;
}

/** States of a batch whose lines have results and whose files are not written. */
const LACK_FILES: ReadonlySet<BatchStatus> = new Set(['finalizing', 'in_progress']);
