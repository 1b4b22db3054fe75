import { and, eq, sql as expression, inArray, ne } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { documents, expiredItems } from './tables.ts';

/** An item whose documents have expired, with the fingerprint of their content. */
export type ExpiredItem = Pick<typeof expiredItems.$inferSelect, 'itemKey' | 'fingerprint'>;

/** Remembers that the documents of an item have expired. */
export async function insertExpiredItem(sql: Sql, item: ExpiredItem & { dataSourceId: string }): Promise<void> {
  await sql
    .insert(expiredItems)
    .values({ ...item, seenBy: '' })
    .onConflictDoUpdate({
      target: [expiredItems.dataSourceId, expiredItems.itemKey],
      set: { fingerprint: item.fingerprint },
    });
}

/** Marks expired items as listed by a job. Returns the expired items. */
export function markExpiredSeen(
  sql: Sql,
  dataSourceId: string,
  { keys, jobId }: { keys: readonly string[]; jobId: string },
): Promise<ExpiredItem[]> {
  const isOfSource = eq(expiredItems.dataSourceId, dataSourceId);
  return sql
    .update(expiredItems)
    .set({ seenBy: jobId })
    .where(and(isOfSource, inArray(expiredItems.itemKey, [...keys])))
    .returning({ itemKey: expiredItems.itemKey, fingerprint: expiredItems.fingerprint });
}

/** Forgets expired items of a data source: all, or only items that a job has not listed. */
export async function deleteExpiredItems(sql: Sql, dataSourceId: string, unseenBy: string | null): Promise<void> {
  const isUnseen = unseenBy === null ? undefined : ne(expiredItems.seenBy, unseenBy);
  await sql.delete(expiredItems).where(and(eq(expiredItems.dataSourceId, dataSourceId), isUnseen));
}

/** Sets when the documents of a data source expire: seconds after they were written; null: never. */
export async function updateExpiry(sql: Sql, dataSourceId: string, seconds: number | null): Promise<void> {
  const at = seconds === null ? null : expression`${documents.updatedAt} + make_interval(secs => ${seconds})`;
  const isOther = expression`${documents.expiresAt} is distinct from ${at}`;
  await sql
    .update(documents)
    .set({ expiresAt: at })
    .where(and(eq(documents.dataSourceId, dataSourceId), isOther));
}
