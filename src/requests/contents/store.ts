import { and, eq, inArray, lt } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { requestContents, requestRecordings } from './tables.ts';

/** Recording settings of an organization. */
export type RecordingRow = typeof requestRecordings.$inferSelect;
/** Recorded contents of a request. */
export type ContentsRow = typeof requestContents.$inferSelect;

/** Selects the recording settings of an organization, or null if they were never changed. */
export async function selectRecording(sql: Sql, organizationId: string): Promise<RecordingRow | null> {
  const [row] = await sql.select().from(requestRecordings).where(eq(requestRecordings.organizationId, organizationId));
  return row ?? null;
}

/** Selects the recording settings of all or some organizations. */
export function selectRecordings(sql: Sql, organizationIds?: readonly string[]): Promise<RecordingRow[]> {
  const isSelected = organizationIds && inArray(requestRecordings.organizationId, [...organizationIds]);
  return sql.select().from(requestRecordings).where(isSelected);
}

/** Inserts or updates the recording settings. Waits for concurrent writes of contents, see `ContentRecorder`. */
export async function upsertRecording(sql: Sql, row: RecordingRow): Promise<void> {
  const { organizationId: target } = requestRecordings;
  await sql.insert(requestRecordings).values(row).onConflictDoUpdate({ target, set: row });
}

const isRequest = (organizationId: string, id: string) =>
  and(eq(requestContents.organizationId, organizationId), eq(requestContents.id, id));

/** Selects the contents of a request, or null. */
export async function selectRequestContents(sql: Sql, organizationId: string, id: string): Promise<ContentsRow | null> {
  const [row] = await sql.select().from(requestContents).where(isRequest(organizationId, id));
  return row ?? null;
}

/** Whether contents of a request or of an organization exist. */
export async function hasContents(sql: Sql, organizationId: string, id?: string): Promise<boolean> {
  const isSelected =
    id === undefined ? eq(requestContents.organizationId, organizationId) : isRequest(organizationId, id);
  return (await sql.select({ id: requestContents.id }).from(requestContents).where(isSelected).limit(1)).length > 0;
}

/** Deletes the contents of a request. Returns whether contents existed. */
export async function deleteContents(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  return (
    (await sql.delete(requestContents).where(isRequest(organizationId, id)).returning({ id: requestContents.id }))
      .length > 0
  );
}

/** Deletes the contents of an organization, only of requests before `beforeId` if it is set. */
export async function deleteContentsOfOrganization(sql: Sql, organizationId: string, beforeId?: string): Promise<void> {
  const isEarlier = beforeId === undefined ? undefined : lt(requestContents.id, beforeId);
  await sql.delete(requestContents).where(and(eq(requestContents.organizationId, organizationId), isEarlier));
}

/** Deletes the recording settings of an organization. */
export async function deleteRecording(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(requestRecordings).where(eq(requestRecordings.organizationId, organizationId));
}
