import type { JobHandler } from '../queue/job-queue.ts';
import { finalizeBatch } from './finalize-batch.ts';
import { createLinePermits } from './line-permits.ts';
import { batchMetrics } from './metrics.ts';
import { type RunDeps, runLines } from './run-lines.ts';
import type { BatchStatus } from './schema.ts';
import { type BatchRow, selectBatchOfJob } from './store.ts';
import { validateBatch } from './validate-batch.ts';

/** Dependencies of background batches. */
export type BatchWorkerDeps = Omit<RunDeps, 'permits'>;

/** Creates the handler of `RUN_BATCH`. `concurrency`: lines that this process runs at the same time. */
export function batchHandler(deps: BatchWorkerDeps, concurrency: number): JobHandler<{ batchId: string }> {
  const permits = createLinePermits(concurrency);
  return ({ batchId }, signal) => runBatch({ ...deps, permits }, batchId, signal);
}

/** Takes a batch from its state to its end. Every step starts where a crash or another process has left it. */
async function runBatch(deps: RunDeps, batchId: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const batch = await selectBatchOfJob(deps.db.sql, batchId);
    const run = batch === null ? null : nextStep(batch);
    if (batch === null || run === null) return;
    const ended = batchMetrics(deps.metrics).stepStarted(batch.status);
    await run(deps, batch, signal).finally(ended);
  }
}

type Step = (deps: RunDeps, batch: BatchRow, signal: AbortSignal) => Promise<void>;

/** The next step of a batch; null for one that has ended. */
function nextStep({ status, expiredAt }: BatchRow): Step | null {
  if (status === 'validating') return validateBatch;
  if (status === 'in_progress' && expiredAt === null) return runLines;
  return LACK_FILES.has(status) ? endBatch : null;
}

async function endBatch(deps: RunDeps, batch: BatchRow, signal: AbortSignal): Promise<void> {
  if (batch.status === 'cancelling') await runLines(deps, batch, signal);
  await finalizeBatch(deps, batch, signal);
  deps.logger.info({ batchId: batch.id, lines: batch.totalLines }, 'batch ended');
}

/** States of a batch whose lines have results, or get them now, and whose files are not written. */
const LACK_FILES: ReadonlySet<BatchStatus> = new Set(['finalizing', 'cancelling', 'in_progress']);
