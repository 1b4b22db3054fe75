import type { JobHandler } from '../queue/job-queue.ts';
import { finalizeBatch } from './finalize-batch.ts';
import { LinePermits } from './line-permits.ts';
import { type RunDeps, runLines } from './run-lines.ts';
import { type BatchRow, selectBatchOfJob } from './store.ts';
import { validateBatch } from './validate-batch.ts';

/** Dependencies of background batches. */
export type BatchWorkerDeps = Omit<RunDeps, 'permits'>;

/** Creates the handler of `RUN_BATCH`. `concurrency`: lines that this process runs at the same time. */
export function batchHandler(deps: BatchWorkerDeps, concurrency: number): JobHandler<{ batchId: string }> {
  const permits = new LinePermits(concurrency);
  return ({ batchId }, signal) => runBatch({ ...deps, permits }, batchId, signal);
}

/** Takes a batch from its current state to its end. Every step starts where a crash has interrupted it. */
async function runBatch(deps: RunDeps, batchId: string, signal: AbortSignal): Promise<void> {
  let batch: BatchRow | null = await selectBatchOfJob(deps.db.sql, batchId);
  if (batch?.status === 'validating') batch = await validateBatch(deps, batch, signal);
  const isRunning = batch?.status === 'cancelling' || (batch?.status === 'in_progress' && batch.expiredAt === null);
  if (batch !== null && isRunning) batch = await runLines(deps, batch, signal);
  if (batch === null || !hasUnfinishedFiles(batch)) return;
  await finalizeBatch(deps, batch, signal);
  deps.logger.info({ batchId, lines: batch.totalLines }, 'batch ended');
}

const hasUnfinishedFiles = ({ status }: BatchRow): boolean =>
  status === 'finalizing' || status === 'cancelling' || status === 'in_progress';
