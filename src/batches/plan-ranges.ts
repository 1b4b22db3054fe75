import type { Deps } from '../deps.ts';
import { type BatchQueue, enqueueRange } from './batch-job.ts';
import { countUnrunLines, endLines } from './end-lines.ts';
import { selectPendingLines } from './line-store.ts';
import { orderByPrefix } from './order-key.ts';
import { hasRange, insertRanges } from './range-store.ts';
import { type BatchRow, lockBatch } from './store.ts';

/** Dependencies of planning. */
export type PlanDeps = Pick<Deps, 'db' | 'metrics' | 'now'> & { jobs: Pick<BatchQueue, 'enqueue'> };

/** Lines of one range. More cost fewer jobs; fewer spread the last lines of a batch more evenly over the processes. */
const MAX_RANGE_LINES = 16;
/** Bytes of memory of the lines of a range, so that one process does not get many lines that it cannot run at once. */
const MAX_RANGE_WEIGHT = 4 * 1024 * 1024;

/** Splits lines into ranges, which the processes lease. Keeps their order. A line above the bound is a range alone. */
export function splitRanges<T extends { weight: number }>(lines: readonly T[]): T[][] {
  const ranges: T[][] = [];
  let weight = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const range = ranges.at(-1);
    if (range === undefined || range.length === MAX_RANGE_LINES || weight + line.weight > MAX_RANGE_WEIGHT) {
      ranges.push([line]);
      weight = line.weight;
    } else {
      range.push(line);
      weight += line.weight;
    }
  }
  return ranges;
}

/**
 * Stores the ranges of a validated batch in the order of their prefixes, and enqueues the first one. Ends the lines of
 * a batch that has none left to run. Returns whether they have ended: the next step is up to the caller then.
 */
export async function planRanges(deps: PlanDeps, batch: BatchRow): Promise<boolean> {
  const { db, jobs, now } = deps;
  const { id: batchId, organizationId } = batch;
  const pending = orderByPrefix(await selectPendingLines(db.sql, batchId));
  const unrun = await db.sql.transaction(async (sql) => {
    const current = await lockBatch(sql, organizationId, batchId);
    if (current === null) return null;
    const at = new Date(now());
    const isRunning = current.status === 'in_progress' && at < current.expiresAt;
    if (!isRunning || pending.length === 0 || (await hasRange(sql, batchId))) return endLines(sql, current, at);
    const ranges = splitRanges(pending).map((lines) => lines.map(({ line }) => line));
    await insertRanges(sql, batchId, ranges);
    await enqueueRange(sql, jobs, { batchId, organizationId, range: 0 });
    return null;
  });
  countUnrunLines(deps, unrun);
  return unrun !== null;
}
