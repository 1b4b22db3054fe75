import { and, eq, sql as fragment } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { batchRanges } from './tables.ts';

/** Identifies a run of a range: `run` is its fencing token. */
export interface RangeRun {
  batchId: string;
  range: number;
  run: number;
}

/** Inserts the ranges of a batch: line numbers in the order in which they run. Their numbers start at 0. */
export async function insertRanges(sql: Sql, batchId: string, ranges: readonly number[][]): Promise<void> {
  await sql.insert(batchRanges).values(ranges.map((lines, range) => ({ batchId, range, lines })));
}

/** Starts a run of a range. Returns its token, 1 for the first run, and the lines; null for a range that has ended. */
export async function startRun(
  sql: Sql,
  batchId: string,
  range: number,
): Promise<{ run: number; lines: number[] } | null> {
  const [row] = await sql
    .update(batchRanges)
    .set({ run: fragment`${batchRanges.run} + 1` })
    .where(and(eq(batchRanges.batchId, batchId), eq(batchRanges.range, range)))
    .returning({ run: batchRanges.run, lines: batchRanges.lines });
  return row ?? null;
}

/** Deletes a range that this run has ended. Returns false when another run has taken it over. */
export async function deleteRange(sql: Sql, { batchId, range, run }: RangeRun): Promise<boolean> {
  const isOurs = and(eq(batchRanges.batchId, batchId), eq(batchRanges.range, range), eq(batchRanges.run, run));
  const deleted = await sql.delete(batchRanges).where(isOurs).returning({ range: batchRanges.range });
  return deleted.length > 0;
}

/** Deletes the ranges of a batch that no process has started. Their jobs find nothing to do. */
export async function deleteUnstartedRanges(sql: Sql, batchId: string): Promise<void> {
  await sql.delete(batchRanges).where(and(eq(batchRanges.batchId, batchId), eq(batchRanges.run, 0)));
}

/** Whether a batch has this range, or any range. */
export async function hasRange(sql: Sql, batchId: string, range?: number): Promise<boolean> {
  const isRange = range === undefined ? undefined : eq(batchRanges.range, range);
  const [row] = await sql
    .select({ range: batchRanges.range })
    .from(batchRanges)
    .where(and(eq(batchRanges.batchId, batchId), isRange))
    .limit(1);
  return row !== undefined;
}
