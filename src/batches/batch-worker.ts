import type { JobHandler } from '../queue/job-queue.ts';
import { finalizeBatch } from './finalize-batch.ts';
import { LinePermits } from './line-permits.ts';
import { type RunDeps, runLines } from './run-lines.ts';
import type { BatchStatus } from './schema.ts';
import { selectBatchOfJob } from './store.ts';
import { validateBatch } from './validate-batch.ts';

/** Dependencies of background batches. */
export type BatchWorkerDeps = Omit<RunDeps, 'permits'>;

/** Creates the handler of `RUN_BATCH`. `concurrency`: lines that this process runs at the same time. */
export function batchHandler(deps: BatchWorkerDeps, concurrency: number): JobHandler<{ batchId: string }> {
  const permits = new LinePermits(concurrency);
  return ({ batchId }, signal) => runBatch({ ...deps, permits }, batchId, signal);
}

/** Takes a batch from its current state to its end. Every step starts where a crash or another process has left the batch. */
async function runBatch(deps: RunDeps, batchId: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const batch = await selectBatchOfJob(deps.db.sql, batchId);
    if (batch?.status === 'validating') await validateBatch(deps, batch, signal);
    else if (batch?.status === 'in_progress' && batch.expiredAt === null) await runLines(deps, batch, signal);
    else if (batch !== null && LACK_FILES.has(batch.status)) {
      if (batch.status === 'cancelling') await runLines(deps, batch, signal);
      await finalizeBatch(deps, batch, signal);
      deps.logger.info({ batchId, lines: batch.totalLines }, 'batch ended');
    } else return;
  }
}

/** States of a batch whose lines have results, or get them now, and whose files are not written. */
const LACK_FILES: ReadonlySet<BatchStatus> = new Set(['finalizing', 'cancelling', 'in_progress']);
