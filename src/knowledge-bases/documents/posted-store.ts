import { and, asc, eq, sql as expression, getTableColumns, gt, inArray, lte, ne, notExists, or } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { PostedContent, PostedStore } from '../../connectors/posted-store.ts';
import type { Sql } from '../../db/db.ts';
import { excludedColumns } from '../../db/excluded-columns.ts';
import type { DocumentRow } from './store.ts';
import { documents, postedDocuments } from './tables.ts';

/** Posted documents per statement: each has ten parameters, and PostgreSQL allows 65,535. */
const ROWS_PER_STATEMENT = 500;

/** Creates the store of the posted documents of one data source, in the table `posted_documents`. */
export function createPostedStore(sql: Sql, sourceId: string): PostedStore {
  return {
    select: (key) => selectPosted(sql, sourceId, key),
    selectPending: (after, limit) => {
      const { dataSourceId, text, format, ...columns } = postedDocuments;
      const { key, name, fileId, metadata, expiresAt, chunkSize, isCancelled, fingerprint } = columns;
      const isOfVersion = and(isOfItem(sourceId, postedDocuments.key), eq(documents.fingerprint, fingerprint));
      const ingested = sql.select({ id: documents.id }).from(documents).where(isOfVersion);
      return sql
        .select({ key, name, fileId, metadata, expiresAt, chunkSize, fingerprint })
        .from(postedDocuments)
        .where(and(eq(dataSourceId, sourceId), gt(key, after), eq(isCancelled, false), notExists(ingested)))
        .orderBy(asc(key))
        .limit(limit);
    },
  };
}

/** Selects a posted document, or null. */
export async function selectPosted(sql: Sql, sourceId: string, key: string): Promise<PostedContent | null> {
  const [row] = await sql.select().from(postedDocuments).where(isPosted(sourceId, key));
  return row ?? null;
}

/** Selects the posted documents of the keys. Keys without a document are left out. */
export function selectPostedOfKeys(sql: Sql, sourceId: string, keys: readonly string[]): Promise<PostedContent[]> {
  return sql
    .select()
    .from(postedDocuments)
    .where(and(eq(postedDocuments.dataSourceId, sourceId), inArray(postedDocuments.key, [...keys])));
}

/** Inserts or replaces posted documents with different keys. */
export async function upsertPosted(sql: Sql, sourceId: string, posted: readonly PostedContent[]): Promise<void> {
  for (let from = 0; from < posted.length; from += ROWS_PER_STATEMENT) {
    const rows = posted.slice(from, from + ROWS_PER_STATEMENT).map((row) => ({ ...row, dataSourceId: sourceId }));
    const { dataSourceId, key, ...columns } = getTableColumns(postedDocuments);
    const onConflict = { target: [dataSourceId, key], set: excludedColumns(columns) };
    await sql.insert(postedDocuments).values(rows).onConflictDoUpdate(onConflict);
  }
}

/** Deletes a posted document, unless documents of it exist. */
export async function deletePosted(sql: Sql, sourceId: string, key: string): Promise<void> {
  const remaining = sql.select({ id: documents.id }).from(documents).where(isOfItem(sourceId, key));
  await sql.delete(postedDocuments).where(and(isPosted(sourceId, key), notExists(remaining)));
}

/** Selects the documents of keys, several for a file of several documents, in the order of their ids. */
export function selectDocumentsOfKeys(sql: Sql, sourceId: string, keys: readonly string[]): Promise<DocumentRow[]> {
  return sql.select().from(documents).where(isOfItems(sourceId, keys)).orderBy(asc(documents.id));
}

/** Sets the expiry of the documents of keys, and makes them differ from the posted version: the next sync reads it. */
export async function expectVersion(
  sql: Sql,
  sourceId: string,
  { keys, expiresAt }: { keys: readonly string[]; expiresAt: Date | null },
): Promise<void> {
  await sql.update(documents).set({ fingerprint: '', expiresAt }).where(isOfItems(sourceId, keys));
}

/**
 * Selects up to `limit` documents whose place in a posted file is gone: a job has read a version without them, or their
 * key was deleted while it ran.
 */
export function selectReplacedParts(sql: Sql, sourceId: string, jobId: string, limit: number): Promise<DocumentRow[]> {
  const written = alias(documents, 'written');
  const isRead = and(
    eq(written.dataSourceId, sourceId),
    eq(written.itemKey, documents.itemKey),
    eq(written.seenBy, jobId),
  );
  const read = sql.select({ id: written.id }).from(written).where(isRead);
  const posted = sql.select({ key: postedDocuments.key }).from(postedDocuments);
  const isReplaced = and(ne(documents.seenBy, jobId), expression`exists ${read}`);
  const isDeleted = notExists(posted.where(isPosted(sourceId, documents.itemKey)));
  return sql
    .select()
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), or(isReplaced, isDeleted)))
    .limit(limit);
}

/** Selects up to `limit` documents that have expired. */
export function selectExpired(sql: Sql, at: Date, limit: number): Promise<DocumentRow[]> {
  return sql
    .select()
    .from(documents)
    .where(lte(documents.expiresAt, at))
    .orderBy(asc(documents.expiresAt))
    .limit(limit);
}

function isOfItems(sourceId: string, keys: readonly string[]) {
  return and(eq(documents.dataSourceId, sourceId), inArray(documents.itemKey, [...keys]));
}

function isOfItem(sourceId: string, key: string | typeof postedDocuments.key) {
  return and(eq(documents.dataSourceId, sourceId), eq(documents.itemKey, key));
}

function isPosted(sourceId: string, key: string | typeof documents.itemKey) {
  return and(eq(postedDocuments.dataSourceId, sourceId), eq(postedDocuments.key, key));
}
