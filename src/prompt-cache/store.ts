import { and, eq, sql as expression, ne, notInArray } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import type { ModelCacheUsage } from '../engines/registry.ts';
import { isRunning } from '../leases/process-lease.ts';
import { type CacheBaseline, promptCacheBaseline, promptCacheUsage } from './tables.ts';

/** Process id of the rows of all ended processes. */
const ENDED = '';

/** The cache of one model in one process. */
export interface CacheUsageRow extends ModelCacheUsage {
  model: string;
}

/** Replaces the rows of a process. */
export async function replaceUsage(
  sql: Sql,
  processId: string,
  usages: ReadonlyMap<string, ModelCacheUsage>,
): Promise<void> {
  const rows = [...usages].map(([model, usage]) => ({ processId, model, ...usage }));
  await sql.transaction(async (transaction) => {
    const ofProcess = eq(promptCacheUsage.processId, processId);
    const models = notInArray(promptCacheUsage.model, [...usages.keys()]);
    await transaction.delete(promptCacheUsage).where(and(ofProcess, models));
    if (rows.length === 0) return;
    const excluded = (column: string) => expression.raw(`excluded.${column}`);
    await transaction
      .insert(promptCacheUsage)
      .values(rows)
      .onConflictDoUpdate({
        target: [promptCacheUsage.processId, promptCacheUsage.model],
        set: { bytes: excluded('bytes'), entries: excluded('entries'), evictions: excluded('evictions') },
      });
  });
}

/** Rows of the other processes. Those of ended processes have evictions only. */
export function selectOtherUsage(sql: Sql, processId: string): Promise<CacheUsageRow[]> {
  const { model, bytes, entries, evictions } = promptCacheUsage;
  const isCurrent = isRunning(expression`process_id`);
  return sql
    .select({
      model,
      bytes: expression<number | null>`case when ${isCurrent} then ${bytes} end`.mapWith(bytes),
      entries: expression<number>`case when ${isCurrent} then ${entries} else 0 end`.mapWith(entries),
      evictions,
    })
    .from(promptCacheUsage)
    .where(ne(promptCacheUsage.processId, processId));
}

/** Moves the evictions of processes that have ended to the row of all of them, and those of `processId`. */
export async function foldEndedUsage(sql: Sql, processId: string | null): Promise<void> {
  await sql.execute(expression`
    with ended as (
      delete from ${promptCacheUsage}
      where process_id <> ${ENDED} and (process_id = ${processId} or not ${isRunning(expression`process_id`)})
      returning model, evictions
    )
    insert into ${promptCacheUsage} as total (process_id, model, bytes, entries, evictions)
    select ${ENDED}, model, null, 0, sum(evictions) from ended group by model order by model
    on conflict (process_id, model) do update set evictions = total.evictions + excluded.evictions`);
}

/** The last reset; null before the first start. */
export async function selectBaseline(sql: Sql): Promise<{ counts: CacheBaseline[]; since: Date } | null> {
  const [row] = await sql.select().from(promptCacheBaseline);
  return row ?? null;
}

/** Stores the counts of a reset. `replace: false` keeps an earlier one. */
export async function storeBaseline(
  sql: Sql,
  counts: CacheBaseline[],
  { since, replace }: { since: Date; replace: boolean },
): Promise<void> {
  const inserting = sql.insert(promptCacheBaseline).values({ counts, since });
  if (!replace) await inserting.onConflictDoNothing();
  else await inserting.onConflictDoUpdate({ target: promptCacheBaseline.id, set: { counts, since } });
}
