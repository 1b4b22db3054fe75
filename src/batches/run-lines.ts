import type { Deps } from '../deps.ts';
import { runPeriodically } from '../lib/run-periodically.ts';
import { restoreCaller } from '../lib/stored-caller.ts';
import type { BatchLineDeps } from './endpoints.ts';
import { requireInputFile } from './input-file.ts';
import type { LinePermits } from './line-permits.ts';
import { failPendingLines, type PendingLine, selectPendingLines } from './line-store.ts';
import { ResultWriter, recordLeftUsage } from './result-writer.ts';
import { type LineContext, runLine } from './run-line.ts';
import { type BatchRow, lockBatch, selectBatchStatus, updateBatch } from './store.ts';

/** Dependencies of running batches. */
export type RunDeps = BatchLineDeps & Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> & { permits: LinePermits };

/** Interval of the check for a cancellation, which any process may have received, and for the expiry. */
const WATCH_MS = 500;

const CANCELLED = { code: 'batch_cancelled', message: 'The batch was cancelled before this request was run.' };
const EXPIRED = { code: 'batch_expired', message: 'The batch expired before this request was run.' };

/**
 * Runs the lines of a batch that have no result, until all have one, the batch is cancelled or it expires. Lines in progress then end; the
 * others fail. Returns the batch, whose lines all have results; null when another process has ended it.
 */
export async function runLines(deps: RunDeps, batch: BatchRow, signal: AbortSignal): Promise<BatchRow | null> {
  await recordLeftUsage(deps, batch.id);
  if (batch.status === 'in_progress') await runUntilStopped(deps, batch, signal);
  signal.throwIfAborted();
  return endRun(deps, batch);
}

async function runUntilStopped(deps: RunDeps, batch: BatchRow, signal: AbortSignal): Promise<void> {
  const stopping = new AbortController();
  const watch = runPeriodically(WATCH_MS, 'watch batch', () => watchBatch(deps, batch, stopping), deps.logger);
  try {
    await runPendingLines(deps, batch, { signal, stop: AbortSignal.any([signal, stopping.signal]) });
  } finally {
    await watch.stop();
  }
}

/** Stops a batch that is not running any more. */
async function watchBatch({ db, now }: RunDeps, { id, expiresAt }: BatchRow, stopping: AbortController): Promise<void> {
  const isOver = now() >= expiresAt.getTime() || (await selectBatchStatus(db.sql, id)) !== 'in_progress';
  if (isOver) stopping.abort(new Error('the batch has stopped'));
}

async function runPendingLines(
  deps: RunDeps,
  batch: BatchRow,
  { signal, stop }: Pick<LineContext, 'signal' | 'stop'>,
): Promise<void> {
  const file = await requireInputFile(deps, batch);
  const pending = await selectPendingLines(deps.db.sql, batch.id);
  const caller = restoreCaller(batch.caller);
  const writer = new ResultWriter(deps, batch.id);
  const context: LineContext = { deps, permits: deps.permits, batch, caller, file, signal, stop };
  const lines = pending[Symbol.iterator]();
  let failure: { error: unknown } | null = null;
  const runNext = async (line: PendingLine) => writer.add(await runLine(context, line));
  const worker = async () => {
    for (const line of lines) {
      if (stop.aborted || failure !== null) return;
      await runNext(line).catch((error: unknown) => {
        // A line that was stopped stays pending.
        if (!stop.aborted) failure ??= { error };
      });
    }
  };
  await Promise.all(Array.from({ length: deps.permits.total }, worker));
  await writer.flush();
  if (failure !== null) throw (failure as { error: unknown }).error;
}

/** Decides how the run ended, and fails the lines that were not run. */
async function endRun({ db, now }: RunDeps, batch: BatchRow): Promise<BatchRow | null> {
  return db.sql.transaction(async (sql) => {
    const current = await lockBatch(sql, batch.organizationId, batch.id);
    if (current === null || !['in_progress', 'cancelling'].includes(current.status)) return null;
    const isDone = current.completedLines + current.failedLines === current.totalLines;
    if (current.status === 'cancelling') {
      await failPendingLines(sql, batch.id, JSON.stringify(CANCELLED));
      return current;
    }
    if (isDone) return updateBatch(sql, current, { status: 'finalizing', finalizingAt: new Date(now()) });
    await failPendingLines(sql, batch.id, JSON.stringify(EXPIRED));
    return updateBatch(sql, current, { expiredAt: new Date(now()) });
  });
}
