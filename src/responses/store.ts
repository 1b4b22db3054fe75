import { and, arrayContains, eq, gt, lte } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { responses } from './tables.ts';

/** A row of `responses`. */
export type ResponseRow = typeof responses.$inferSelect;

/** A stored response is found for exactly this long. */
const RETENTION_MS = 24 * 60 * 60 * 1000;

/** Inserts a response. */
export async function insertResponse(sql: Sql, row: typeof responses.$inferInsert): Promise<void> {
  await sql.insert(responses).values(row);
}

/** The organization's response, or null when it is unknown or has expired. */
export async function selectResponse(
  sql: Sql,
  organizationId: string,
  id: string,
  now: Date,
): Promise<ResponseRow | null> {
  const [row] = await sql
    .select()
    .from(responses)
    .where(and(eq(responses.id, id), isFound(organizationId, now)));
  return row ?? null;
}

/** The organization's response that has an output item of this id, or null. */
export async function selectResponseWithItem(
  sql: Sql,
  organizationId: string,
  itemId: string,
  now: Date,
): Promise<Pick<ResponseRow, 'response'> | null> {
  const [row] = await sql
    .select({ response: responses.response })
    .from(responses)
    .where(and(arrayContains(responses.itemIds, [itemId]), isFound(organizationId, now)));
  return row ?? null;
}

/** Deletes the organization's response with its events. Returns whether there was one. */
export async function deleteResponseRow(sql: Sql, organizationId: string, id: string, now: Date): Promise<boolean> {
  const deleted = await sql
    .delete(responses)
    .where(and(eq(responses.id, id), isFound(organizationId, now)))
    .returning({ id: responses.id });
  return deleted.length > 0;
}

/** Deletes all expired responses with their events, by range of their age. */
export async function deleteExpiredResponses(sql: Sql, now: Date): Promise<void> {
  await sql.delete(responses).where(lte(responses.createdAt, expiryBound(now)));
}

function isFound(organizationId: string, now: Date) {
  return and(eq(responses.organizationId, organizationId), gt(responses.createdAt, expiryBound(now)));
}

/** Responses created at or before this time have expired. */
function expiryBound(now: Date): Date {
  return new Date(now.getTime() - RETENTION_MS);
}
