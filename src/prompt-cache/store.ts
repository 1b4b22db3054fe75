import { and, eq, sql as expression, gt, lt, ne } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import type { CacheCounts } from './cache-counters.ts';
import { promptCacheCounts } from './tables.ts';

/** A process that has not updated its row for this time has ended. */
const EXPIRED = expression`now() - interval '60 seconds'`;

/** Writes the counts of a process; false when the statistics were reset since `resets`: then nothing is written. */
export async function upsertCounts(sql: Sql, processId: string, counts: CacheCounts, resets: number): Promise<boolean> {
  const set = { ...counts, updatedAt: expression`now()` };
  const written = await sql
    .insert(promptCacheCounts)
    .values({ processId, resets, ...set })
    .onConflictDoUpdate({
      target: promptCacheCounts.processId,
      set,
      setWhere: eq(promptCacheCounts.resets, resets),
    })
    .returning({ processId: promptCacheCounts.processId });
  return written.length === 1;
}

/** Counts of the other running processes. */
export async function selectOtherCounts(sql: Sql, processId: string): Promise<CacheCounts[]> {
  return sql
    .select()
    .from(promptCacheCounts)
    .where(and(ne(promptCacheCounts.processId, processId), gt(promptCacheCounts.updatedAt, EXPIRED)));
}

/** How often the statistics were reset since the process wrote its first row; 0 without a row. */
export async function selectResets(sql: Sql, processId: string): Promise<number> {
  const rows = await sql
    .select({ resets: promptCacheCounts.resets })
    .from(promptCacheCounts)
    .where(eq(promptCacheCounts.processId, processId));
  return rows[0]?.resets ?? 0;
}

/** Sets the counts of all processes to zero and notifies them. Run it in a transaction. */
export async function resetCounts(sql: Sql): Promise<void> {
  const zero = { hits: 0, misses: 0, cachedTokens: 0, evictions: 0, since: expression`now()` };
  await sql.update(promptCacheCounts).set({ ...zero, resets: expression`${promptCacheCounts.resets} + 1` });
  await notify(sql, 'quire_prompt_cache');
}

/** Deletes the counts of a process that ends. */
export async function deleteCounts(sql: Sql, processId: string): Promise<void> {
  await sql.delete(promptCacheCounts).where(eq(promptCacheCounts.processId, processId));
}

/** Deletes the counts of processes that were killed. */
export async function deleteExpiredCounts(sql: Sql): Promise<void> {
  await sql.delete(promptCacheCounts).where(lt(promptCacheCounts.updatedAt, EXPIRED));
}
