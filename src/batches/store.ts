import { and, eq, sql as expression } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { onlyCreated } from '../db/only-created.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import type { BatchListQuery, BatchStatus } from './schema.ts';
import { batches } from './tables.ts';

export type BatchRow = typeof batches.$inferSelect;

/** Inserts a batch. */
export async function insertBatch(sql: Sql, row: BatchRow): Promise<void> {
  await sql.insert(batches).values(row);
}

/** Selects a batch of the organization; null when it does not exist. */
export async function selectBatch(sql: Sql, organizationId: string, id: string): Promise<BatchRow | null> {
  const [row] = await sql.select().from(batches).where(hasBatchId(organizationId, id));
  return row ?? null;
}

/** Selects a batch and locks its row until the transaction ends; null if it does not exist. Requires a transaction. */
export async function lockBatch(sql: Sql, organizationId: string, id: string): Promise<BatchRow | null> {
  const [row] = await sql.select().from(batches).where(hasBatchId(organizationId, id)).for('update');
  return row ?? null;
}

/** Selects a batch for the job that runs it; null when it does not exist. */
export async function selectBatchOfJob(sql: Sql, id: string): Promise<BatchRow | null> {
  const [row] = await sql.select().from(batches).where(eq(batches.id, id));
  return row ?? null;
}

/** Selects batches of the organization. */
export function selectBatches(
  sql: Sql,
  organizationId: string,
  bounds: PageBounds,
  order?: BatchListQuery['order'],
): Promise<BatchRow[]> {
  const { isAfter, orderBy } = pageOrder(batches.id, bounds, order);
  return sql
    .select()
    .from(batches)
    .where(and(eq(batches.organizationId, organizationId), onlyCreated(creator), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects the status of a batch; null when it does not exist. */
export async function selectBatchStatus(sql: Sql, id: string): Promise<BatchStatus | null> {
  const [row] = await sql.select({ status: batches.status }).from(batches).where(eq(batches.id, id));
  return row?.status ?? null;
}

/** Changes a batch. Returns the new row; null when its status is no longer `from`: another process has moved it on. */
export async function updateBatch(
  sql: Sql,
  { id, status: from }: Pick<BatchRow, 'id' | 'status'>,
  changes: Partial<BatchRow>,
): Promise<BatchRow | null> {
  const [row] = await sql
    .update(batches)
    .set(changes)
    .where(and(eq(batches.id, id), eq(batches.status, from)))
    .returning();
  return row ?? null;
}

/** Deletes a batch. Its lines and uses of files are deleted separately. */
export async function deleteBatchRow(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.delete(batches).where(hasBatchId(organizationId, id));
}

const creator = expression<string>`${batches.caller} ->> 'keyId'`;

function hasBatchId(organizationId: string, id: string) {
  return and(eq(batches.organizationId, organizationId), eq(batches.id, id), onlyCreated(creator));
}
