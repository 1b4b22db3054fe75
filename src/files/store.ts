import { and, asc, eq, sql as expression, inArray, isNull, lt, lte, ne, notExists, or, type SQL } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { onlyCreated } from '../db/only-created.ts';
import { nameContains, type PageBounds, pageOrder } from '../db/page.ts';
import { currentCaller, visibleKnowledgeBases } from '../lib/organization-context.ts';
import type { FileListQuery } from './schema.ts';
import { files, fileUses, orphanedBlobs } from './tables.ts';

export type FileRow = typeof files.$inferSelect;

/** Inserts a file. */
export async function insertFile(sql: Sql, row: FileRow): Promise<void> {
  await sql.insert(files).values(row);
}

/** Selects a file of the organization or of a chat of the caller, or null. */
export async function selectFile(sql: Sql, organizationId: string, id: string): Promise<FileRow | null> {
  const [row] = await sql
    .select()
    .from(files)
    .where(and(hasFileId(organizationId, id), or(visibleFiles(organizationId), belongsToCallersChat())));
  return row ?? null;
}

/** Selects files of the organization, optionally of one purpose or name, in id (creation) order. */
export function selectFiles(
  sql: Sql,
  organizationId: string,
  { purpose, search, order }: Pick<FileListQuery, 'search' | 'order'> & { purpose?: FileRow['purpose'] | null },
  bounds: PageBounds,
): Promise<FileRow[]> {
  const { isAfter, orderBy } = pageOrder(files.id, bounds, order);
  return sql
    .select()
    .from(files)
    .where(
      and(
        eq(files.organizationId, organizationId),
        visibleFiles(organizationId),
        purpose == null ? undefined : eq(files.purpose, purpose),
        nameContains(files.filename, search),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/**
 * Selects a file and locks its row until the transaction ends; null when it does not exist. Deletion and first use of a
 * file take this lock. Requires a transaction.
 */
export async function lockFile(sql: Sql, organizationId: string, id: string): Promise<FileRow | null> {
  const isFile = and(hasFileId(organizationId, id), visibleFiles(organizationId));
  const [row] = await sql.select().from(files).where(isFile).for('update');
  return row ?? null;
}

/** Selects the existing files among the ids, in no particular order. */
export function selectFilesOfIds(sql: Sql, organizationId: string, ids: readonly string[]): Promise<FileRow[]> {
  return sql.select().from(files).where(hasFileIds(organizationId, ids));
}

/** Locks the existing files among the ids, in id order, so that concurrent transactions cannot deadlock. */
export function lockFiles(sql: Sql, organizationId: string, ids: readonly string[]): Promise<FileRow[]> {
  const areFiles = and(hasFileIds(organizationId, ids), visibleFiles(organizationId));
  return sql.select().from(files).where(areFiles).orderBy(asc(files.id)).for('update');
}

/** SQL condition: the file belongs to a chat of the caller. Undefined in jobs, which see every file. */
function belongsToCallersChat(): SQL | undefined {
  const caller = currentCaller();
  return caller === null ? undefined : eq(files.privateTo, caller);
}

/**
 * SQL condition of the files that a request may list. Files of chats are hidden. Keys that are restricted to knowledge
 * bases see files that they created and files of their knowledge bases, whose tables belong to a higher layer.
 */
function visibleFiles(organizationId: string): SQL | undefined {
  if (currentCaller() === null) return undefined;
  return and(isNull(files.privateTo), filesOfKey(organizationId));
}

function filesOfKey(organizationId: string): SQL | undefined {
  const ids = visibleKnowledgeBases();
  if (ids === null) return undefined;
  const isVisible = expression`s.organization_id = ${organizationId}
    and s.knowledge_base_id = any(${expression.param([...ids])}::text[])`;
  const isUsed = expression`${files.id} in (
    select jsonb_array_elements_text(s.config -> 'file_ids') from data_sources s
    where ${isVisible} and s.type = 'file_upload'
    union all
    select p.file_id from posted_documents p join data_sources s on s.id = p.data_source_id
    where ${isVisible} and p.file_id is not null)`;
  return or(onlyCreated(files.createdBy), isUsed);
}

/** Selects files that have expired and are not in use, of all organizations, the first to expire first. */
export function selectExpiredFiles(
  sql: Sql,
  now: Date,
  limit: number,
): Promise<Pick<FileRow, 'organizationId' | 'id'>[]> {
  const isUnused = notExists(sql.select().from(fileUses).where(eq(fileUses.fileId, files.id)));
  return sql
    .select({ organizationId: files.organizationId, id: files.id })
    .from(files)
    .where(and(lte(files.expiresAt, now), isUnused))
    .orderBy(asc(files.expiresAt))
    .limit(limit);
}

/** Whether a running job or batch uses the file. */
export async function isFileInUse(sql: Sql, id: string): Promise<boolean> {
  return (await sql.select({ id: fileUses.fileId }).from(fileUses).where(eq(fileUses.fileId, id)).limit(1)).length > 0;
}

/** Records that `userId` (a job or batch) uses the files. Idempotent. */
export async function insertFileUses(sql: Sql, fileIds: readonly string[], userId: string, at: Date): Promise<void> {
  if (fileIds.length === 0) return;
  const rows = fileIds.map((fileId) => ({ fileId, userId, createdAt: at }));
  await sql.insert(fileUses).values(rows).onConflictDoNothing();
}

/** Deletes files with their uses and marks their blobs as orphaned. Requires a transaction. Returns the blob keys. */
export async function deletePrivateFiles(sql: Sql, ids: readonly string[], at: Date): Promise<string[]> {
  if (ids.length === 0) return [];
  await sql.delete(fileUses).where(inArray(fileUses.fileId, [...ids]));
  const rows = await sql
    .delete(files)
    .where(inArray(files.id, [...ids]))
    .returning({ key: files.blobKey });
  for (const { key } of rows) await insertOrphanedBlob(sql, key, at);
  return rows.map(({ key }) => key);
}

/** Removes all uses by `userId`. */
export async function deleteFileUses(sql: Sql, userId: string): Promise<void> {
  await sql.delete(fileUses).where(eq(fileUses.userId, userId));
}

/** Deletes the row of a file. The file must not be in use. */
export async function deleteFileRow(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.delete(files).where(hasFileId(organizationId, id));
}

/** Marks a file as checked, unless its first use has ended before. */
export async function updateChecked(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql
    .update(files)
    .set({ status: 'uploaded' })
    .where(and(hasFileId(organizationId, id), eq(files.status, 'unchecked')));
}

/** Marks files as `processed`, a final state. */
export async function updateProcessed(sql: Sql, organizationId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql
    .update(files)
    .set({ status: 'processed', statusDetails: null })
    .where(and(eq(files.organizationId, organizationId), inArray(files.id, [...ids]), ne(files.status, 'processed')));
}

/** Marks a file as `error` unless it is `processed`. `details` is the message for the caller. */
export async function updateFailed(sql: Sql, organizationId: string, id: string, details: string): Promise<void> {
  await sql
    .update(files)
    .set({ status: 'error', statusDetails: details })
    .where(and(hasFileId(organizationId, id), ne(files.status, 'processed')));
}

/** Lists a blob key that belongs to no file: an upload in progress or a deleted file. */
export async function insertOrphanedBlob(sql: Sql, blobKey: string, at: Date): Promise<void> {
  await sql.insert(orphanedBlobs).values({ blobKey, createdAt: at });
}

/** Unlists a key when a file is committed with its bytes. Returns false when the bytes are deleted or being deleted. */
export async function claimOrphanedBlob(sql: Sql, blobKey: string): Promise<boolean> {
  const rows = await sql
    .delete(orphanedBlobs)
    .where(and(eq(orphanedBlobs.blobKey, blobKey), eq(orphanedBlobs.isDropped, false)))
    .returning({ key: orphanedBlobs.blobKey });
  return rows.length === 1;
}

/** Marks the bytes as being deleted. Returns false if the key is not listed: a file owns them, or they are deleted. */
export async function markOrphanedBlobDeleting(sql: Sql, blobKey: string): Promise<boolean> {
  const rows = await sql
    .update(orphanedBlobs)
    .set({ isDropped: true })
    .where(eq(orphanedBlobs.blobKey, blobKey))
    .returning({ key: orphanedBlobs.blobKey });
  return rows.length === 1;
}

/** Unlists a key whose bytes are deleted. */
export async function deleteOrphanedBlobRow(sql: Sql, blobKey: string): Promise<void> {
  await sql.delete(orphanedBlobs).where(eq(orphanedBlobs.blobKey, blobKey));
}

/** Selects up to `limit` keys listed before a time. */
export async function selectOrphanedBlobs(sql: Sql, before: Date, limit: number): Promise<string[]> {
  const rows = await sql
    .select({ blobKey: orphanedBlobs.blobKey })
    .from(orphanedBlobs)
    .where(lt(orphanedBlobs.createdAt, before))
    .orderBy(asc(orphanedBlobs.createdAt))
    .limit(limit);
  return rows.map(({ blobKey }) => blobKey);
}

function hasFileIds(organizationId: string, ids: readonly string[]) {
  return and(eq(files.organizationId, organizationId), inArray(files.id, [...ids]));
}

function hasFileId(organizationId: string, id: string) {
  return and(eq(files.organizationId, organizationId), eq(files.id, id));
}
