import { and, asc, desc, eq, gt, inArray, lt, ne } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import type { PageBounds } from '../db/page.ts';
import type { FileListQuery } from './schema.ts';
import { files, fileUses, looseBlobs } from './tables.ts';

export type FileRow = typeof files.$inferSelect;

/** Adds a file. */
export async function insertFile(sql: Sql, row: FileRow): Promise<void> {
  await sql.insert(files).values(row);
}

/** The organization's file of that id, or null. */
export async function selectFile(sql: Sql, organizationId: string, id: string): Promise<FileRow | null> {
  const [row] = await sql.select().from(files).where(isFile(organizationId, id));
  return row ?? null;
}

/** The organization's files, of one purpose or of all, oldest first or, descending, the last first. */
export function selectFiles(
  sql: Sql,
  organizationId: string,
  { purpose, order }: Pick<FileListQuery, 'purpose' | 'order'>,
  bounds: PageBounds,
): Promise<FileRow[]> {
  const isDescending = order === 'desc';
  const isBehind = isDescending ? lt : gt;
  return sql
    .select()
    .from(files)
    .where(
      and(
        eq(files.organizationId, organizationId),
        purpose === undefined ? undefined : eq(files.purpose, purpose),
        bounds.after === null ? undefined : isBehind(files.id, bounds.after),
      ),
    )
    .orderBy(isDescending ? desc(files.id) : asc(files.id))
    .limit(bounds.limit + 1);
}

/**
 * The file, held against being deleted, or used for the first time, until the transaction ends; null when there is none.
 * Call it in a transaction.
 */
export async function lockFile(sql: Sql, organizationId: string, id: string): Promise<FileRow | null> {
  const [row] = await sql.select().from(files).where(isFile(organizationId, id)).for('update');
  return row ?? null;
}

/** Those of the organization's files that are there, in no particular order. */
export function selectFilesOfIds(sql: Sql, organizationId: string, ids: readonly string[]): Promise<FileRow[]> {
  return sql.select().from(files).where(areFiles(organizationId, ids));
}

/** The same, held as `lockFile` holds one: always in the order of their ids, so that of two holders one waits. */
export function lockFiles(sql: Sql, organizationId: string, ids: readonly string[]): Promise<FileRow[]> {
  return sql.select().from(files).where(areFiles(organizationId, ids)).orderBy(asc(files.id)).for('update');
}

/** Whether anything that runs needs the file. */
export async function isFileInUse(sql: Sql, id: string): Promise<boolean> {
  return (await sql.select({ id: fileUses.fileId }).from(fileUses).where(eq(fileUses.fileId, id)).limit(1)).length > 0;
}

/** Says that `userId` needs the files. Saying it twice is saying it once. */
export async function insertFileUses(sql: Sql, fileIds: readonly string[], userId: string, at: Date): Promise<void> {
  if (fileIds.length === 0) return;
  const rows = fileIds.map((fileId) => ({ fileId, userId, createdAt: at }));
  await sql.insert(fileUses).values(rows).onConflictDoNothing();
}

/** Says that `userId` needs no file any more. */
export async function deleteFileUses(sql: Sql, userId: string): Promise<void> {
  await sql.delete(fileUses).where(eq(fileUses.userId, userId));
}

/** Removes the file's row. Nothing may use it. */
export async function deleteFileRow(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.delete(files).where(isFile(organizationId, id));
}

/** A first success makes files `processed`, and they stay so. */
export async function updateProcessed(sql: Sql, organizationId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql
    .update(files)
    .set({ status: 'processed', statusDetails: null })
    .where(and(eq(files.organizationId, organizationId), inArray(files.id, [...ids]), ne(files.status, 'processed')));
}

/** Makes a file that nothing has used with success yet one in error. `details` is a sentence for the caller. */
export async function updateFailed(sql: Sql, organizationId: string, id: string, details: string): Promise<void> {
  await sql
    .update(files)
    .set({ status: 'error', statusDetails: details })
    .where(and(isFile(organizationId, id), ne(files.status, 'processed')));
}

/** Lists a key whose bytes belong to no file: yet, or any more. */
export async function insertLooseBlob(sql: Sql, blobKey: string, at: Date): Promise<void> {
  await sql.insert(looseBlobs).values({ blobKey, createdAt: at });
}

/** Takes a key from the list because a file has its bytes now. False when they are being removed, or were. */
export async function takeLooseBlob(sql: Sql, blobKey: string): Promise<boolean> {
  const rows = await sql
    .delete(looseBlobs)
    .where(and(eq(looseBlobs.blobKey, blobKey), eq(looseBlobs.isDropped, false)))
    .returning({ key: looseBlobs.blobKey });
  return rows.length === 1;
}

/** Says that the bytes are about to be removed. False when the key is not listed: a file has them, or they are gone. */
export async function updateDropped(sql: Sql, blobKey: string): Promise<boolean> {
  const rows = await sql
    .update(looseBlobs)
    .set({ isDropped: true })
    .where(eq(looseBlobs.blobKey, blobKey))
    .returning({ key: looseBlobs.blobKey });
  return rows.length === 1;
}

/** Takes a key from the list because its bytes are gone. */
export async function deleteLooseBlob(sql: Sql, blobKey: string): Promise<void> {
  await sql.delete(looseBlobs).where(eq(looseBlobs.blobKey, blobKey));
}

/** Up to `limit` keys that were listed before then. */
export async function selectLooseBlobs(sql: Sql, before: Date, limit: number): Promise<string[]> {
  const rows = await sql
    .select({ blobKey: looseBlobs.blobKey })
    .from(looseBlobs)
    .where(lt(looseBlobs.createdAt, before))
    .orderBy(asc(looseBlobs.createdAt))
    .limit(limit);
  return rows.map(({ blobKey }) => blobKey);
}

function areFiles(organizationId: string, ids: readonly string[]) {
  return and(eq(files.organizationId, organizationId), inArray(files.id, [...ids]));
}

function isFile(organizationId: string, id: string) {
  return and(eq(files.organizationId, organizationId), eq(files.id, id));
}
