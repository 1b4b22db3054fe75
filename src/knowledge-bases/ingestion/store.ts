import {
  and,
  asc,
  count,
  eq,
  sql as expression,
  getTableColumns,
  inArray,
  lt,
  max,
  ne,
  notInArray,
  or,
} from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { excludedColumns } from '../../db/excluded-columns.ts';
import type { DataSourceRow } from '../data-sources/store.ts';
import type { DocumentRow } from '../documents/store.ts';
import { chunks, documents, filterKeys } from '../documents/tables.ts';
import type { JobError } from '../jobs/job-error.ts';
import type { JobRow } from '../jobs/store.ts';
import { ingestionJobs, jobDocuments } from '../jobs/tables.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { dataSources, knowledgeBases } from '../tables.ts';

/** A row to insert into `chunks`. */
export type NewChunkRow = typeof chunks.$inferInsert;

/** A job with its data source and knowledge base. */
export interface JobContext {
  job: JobRow;
  source: DataSourceRow;
  base: KnowledgeBaseRow;
}

/** Maximum filter keys of a knowledge base: each key with numbers or dates is a column of its index. */
export const MAX_FILTER_KEYS = 256;
/** Chunk rows per statement: each has ten parameters, and PostgreSQL allows 65,535. */
const ROWS_PER_STATEMENT = 500;

/** Selects a job with its data source and knowledge base; null when one of them was deleted. */
export async function selectJobContext(sql: Sql, jobId: string): Promise<JobContext | null> {
  const [context] = await sql
    .select({ job: ingestionJobs, source: dataSources, base: knowledgeBases })
    .from(ingestionJobs)
    .innerJoin(dataSources, eq(dataSources.id, ingestionJobs.dataSourceId))
    .innerJoin(knowledgeBases, eq(knowledgeBases.id, ingestionJobs.knowledgeBaseId))
    .where(eq(ingestionJobs.id, jobId));
  return context ?? null;
}

/**
 * Starts a run of a job: updates the status of the job, its data source and its knowledge base. Returns the number of
 * the run, which supersedes all earlier ones.
 */
export async function beginRun(sql: Sql, { job, source, base }: JobContext, at: Date): Promise<number> {
  const run = job.run + 1;
  await sql
    .update(ingestionJobs)
    .set({
      status: 'processing',
      attempts: job.attempts + 1,
      run,
      startedAt: job.startedAt ?? at,
      documentsScanned: 0,
      // A killed process leaves the progress of its files.
      reading: [],
    })
    .where(eq(ingestionJobs.id, job.id));
  if (job.kind !== 'embed') {
    await sql.update(dataSources).set({ status: 'processing' }).where(eq(dataSources.id, source.id));
  }
  await sql.update(knowledgeBases).set({ status: 'indexing' }).where(eq(knowledgeBases.id, base.id));
  return run;
}

/** Decrements the attempts of a job whose run was stopped without a failure. */
export async function undoAttempt(sql: Sql, { id, run }: Pick<JobRow, 'id' | 'run'>): Promise<void> {
  await sql
    .update(ingestionJobs)
    .set({ attempts: expression`greatest(${ingestionJobs.attempts} - 1, 0)` })
    .where(and(eq(ingestionJobs.id, id), eq(ingestionJobs.run, run)));
}

/** Stored state of an item, aggregated over its documents. */
export interface ItemState {
  itemKey: string;
  /** Number of documents. */
  documents: number;
  /** Distinct fingerprints of its documents; several when the item was not processed completely. */
  fingerprints: string[];
  /** Whether one of its documents failed. */
  hasFailed: boolean;
  /** Whether the own metadata of all its documents is stored. */
  hasOwnMetadata: boolean;
  /** Id of the last job that listed the item. */
  seenBy: string;
}

/** Selects the states of the items that have documents. */
export async function selectItemStates(sql: Sql, sourceId: string, itemKeys: readonly string[]): Promise<ItemState[]> {
  if (itemKeys.length === 0) return [];
  const rows = await sql
    .select({
      itemKey: documents.itemKey,
      documents: count(),
      fingerprints: expression<string[]>`array_agg(distinct ${documents.fingerprint})`,
      own: count(documents.ownMetadata),
      failed: expression<number>`count(*) filter (where ${documents.status} = 'failed')`.mapWith(Number),
      seenBy: max(documents.seenBy),
    })
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), inArray(documents.itemKey, [...itemKeys])))
    .groupBy(documents.itemKey);
  return rows.map(({ own, failed, seenBy, ...state }) => ({
    ...state,
    hasFailed: failed > 0,
    hasOwnMetadata: own === state.documents,
    seenBy: seenBy ?? '',
  }));
}

/** Selects the document of one part of an item, or null. */
export async function selectPartDocument(
  sql: Sql,
  sourceId: string,
  itemKey: string,
  part: string,
): Promise<DocumentRow | null> {
  const [row] = await sql
    .select()
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), eq(documents.itemKey, itemKey), eq(documents.part, part)));
  return row ?? null;
}

/** Selects a document of an item's previous version, and counts the documents that the job has already written. */
export async function selectPreviousVersion(
  sql: Sql,
  sourceId: string,
  itemKey: string,
  jobId: string,
): Promise<{ document: DocumentRow; written: number } | null> {
  const isOfItem = and(eq(documents.dataSourceId, sourceId), eq(documents.itemKey, itemKey));
  const [document] = await sql
    .select()
    .from(documents)
    .where(and(isOfItem, ne(documents.seenBy, jobId), eq(documents.status, 'completed')))
    .orderBy(asc(documents.id))
    .limit(1);
  if (document === undefined) return null;
  const [counted] = await sql
    .select({ written: count() })
    .from(documents)
    .where(and(isOfItem, eq(documents.seenBy, jobId)));
  return { document, written: counted?.written ?? 0 };
}

/** Sets the final fingerprint of the documents that a job has written for an item. */
export async function setItemFingerprint(
  sql: Sql,
  { sourceId, itemKey, jobId }: { sourceId: string; itemKey: string; jobId: string },
  fingerprint: string,
): Promise<void> {
  await sql
    .update(documents)
    .set({ fingerprint })
    .where(and(eq(documents.dataSourceId, sourceId), eq(documents.itemKey, itemKey), eq(documents.seenBy, jobId)));
}

/** Marks the documents of items as listed by a job. */
export async function markSeen(sql: Sql, sourceId: string, itemKeys: readonly string[], jobId: string): Promise<void> {
  if (itemKeys.length === 0) return;
  await sql
    .update(documents)
    .set({ seenBy: jobId })
    .where(and(eq(documents.dataSourceId, sourceId), inArray(documents.itemKey, [...itemKeys])));
}

/** Selects up to `limit` documents of items that the job has not listed. */
export function selectUnseen(sql: Sql, sourceId: string, jobId: string, limit: number): Promise<DocumentRow[]> {
  return sql.select().from(documents).where(isUnseen(sourceId, jobId)).limit(limit);
}

/** Counts documents that a source had before the job (`earlier`), and those that the job has not listed (`unseen`). */
export async function countUnseen(
  sql: Sql,
  sourceId: string,
  jobId: string,
): Promise<{ earlier: number; unseen: number }> {
  const unseen = expression<number>`count(*) filter (where ${documents.seenBy} <> ${jobId})`.mapWith(Number);
  const started = sql.select({ at: ingestionJobs.startedAt }).from(ingestionJobs).where(eq(ingestionJobs.id, jobId));
  const [row] = await sql
    .select({ earlier: count(), unseen })
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), lt(documents.createdAt, started)));
  return row ?? { earlier: 0, unseen: 0 };
}

/** Selects ids and chunk counts of up to `limit` documents of the given items that the job has not marked yet. */
export function selectUnseenOfItems(
  sql: Sql,
  sourceId: string,
  { itemKeys, jobId }: { itemKeys: readonly string[]; jobId: string },
  limit: number,
): Promise<Pick<DocumentRow, 'id' | 'chunkCount'>[]> {
  return sql
    .select({ id: documents.id, chunkCount: documents.chunkCount })
    .from(documents)
    .where(and(isUnseen(sourceId, jobId), inArray(documents.itemKey, [...itemKeys])))
    .orderBy(asc(documents.id))
    .limit(limit);
}

function isUnseen(sourceId: string, jobId: string) {
  return and(eq(documents.dataSourceId, sourceId), ne(documents.seenBy, jobId));
}

/**
 * Locks a data source and its knowledge base until the transaction ends. Returns false when the data source was
 * deleted: then nothing of it may be written. The knowledge base is always locked first, to avoid deadlocks.
 */
export async function lockSource(sql: Sql, baseId: string, sourceId: string): Promise<boolean> {
  await lockBase(sql, baseId);
  const rows = await sql
    .select({ id: dataSources.id })
    .from(dataSources)
    .where(eq(dataSources.id, sourceId))
    .for('update');
  return rows.length === 1;
}

/** Whether no other run of the job has begun, or has ended it. True for a deleted job. */
export async function isLatestRun(sql: Sql, { id, run }: Pick<JobRow, 'id' | 'run'>): Promise<boolean> {
  const isOver = or(ne(ingestionJobs.run, run), ne(ingestionJobs.status, 'processing'));
  return (await sql.$count(ingestionJobs, and(eq(ingestionJobs.id, id), isOver))) === 0;
}

/** Selects those of the documents that exist. */
export function selectDocumentsByIds(sql: Sql, ids: readonly string[]): Promise<DocumentRow[]> {
  return sql
    .select()
    .from(documents)
    .where(inArray(documents.id, [...ids]))
    .orderBy(asc(documents.id));
}

/** Returns the ids of those documents that exist. */
export async function selectExistingIds(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql
    .select({ id: documents.id })
    .from(documents)
    .where(inArray(documents.id, [...ids]));
  return new Set(rows.map(({ id }) => id));
}

/**
 * Inserts or replaces documents with their chunks. `before` are the ids of documents whose chunks are replaced. Call it
 * with at most a few hundred.
 */
export async function replaceDocuments(
  sql: Sql,
  rows: readonly DocumentRow[],
  { before, chunks: newChunks }: { before: readonly string[]; chunks: readonly NewChunkRow[] },
): Promise<void> {
  if (rows.length === 0) return;
  const { id, createdAt, ...columns } = getTableColumns(documents);
  await sql
    .insert(documents)
    .values([...rows])
    .onConflictDoUpdate({ target: documents.id, set: excludedColumns(columns) });
  if (before.length > 0) await sql.delete(chunks).where(inArray(chunks.documentId, [...before]));
  for (let from = 0; from < newChunks.length; from += ROWS_PER_STATEMENT) {
    await sql.insert(chunks).values(newChunks.slice(from, from + ROWS_PER_STATEMENT));
  }
}

/** Deletes documents with their chunks. */
export async function deleteDocumentRows(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.delete(documents).where(inArray(documents.id, [...ids]));
}

/** Inserts or replaces the results of documents in a job. Call it with at most a few hundred. */
export async function upsertJobDocuments(sql: Sql, rows: readonly (typeof jobDocuments.$inferInsert)[]): Promise<void> {
  if (rows.length === 0) return;
  const { jobId, documentId, ...columns } = getTableColumns(jobDocuments);
  await sql
    .insert(jobDocuments)
    .values([...rows])
    .onConflictDoUpdate({ target: [jobDocuments.jobId, jobDocuments.documentId], set: excludedColumns(columns) });
}

/** Adds to the counts of a data source and its knowledge base; `documents` and `chunks` may be negative. */
export async function incrementCounts(
  sql: Sql,
  { baseId, sourceId }: { baseId: string; sourceId: string },
  { documents: n, chunks: m }: { documents: number; chunks: number },
): Promise<void> {
  if (n === 0 && m === 0) return;
  await sql
    .update(dataSources)
    .set({ documentCount: expression`${dataSources.documentCount} + ${n}` })
    .where(eq(dataSources.id, sourceId));
  await sql
    .update(knowledgeBases)
    .set({
      documentCount: expression`${knowledgeBases.documentCount} + ${n}`,
      chunkCount: expression`${knowledgeBases.chunkCount} + ${m}`,
    })
    .where(eq(knowledgeBases.id, baseId));
}

/** Ends a job: updates the status of the job, its data source and its knowledge base. */
export async function endJob(
  sql: Sql,
  { job, source, base }: JobContext,
  { error, at }: { error: JobError | null; at: Date },
): Promise<void> {
  await sql
    .update(ingestionJobs)
    .set({ status: error === null ? 'completed' : 'failed', error, completedAt: at, reading: [] })
    .where(eq(ingestionJobs.id, job.id));
  const others = await sql
    .select({ sourceId: ingestionJobs.dataSourceId, kind: ingestionJobs.kind })
    .from(ingestionJobs)
    .where(and(eq(ingestionJobs.knowledgeBaseId, base.id), inArray(ingestionJobs.status, ['queued', 'processing'])));
  if (job.kind !== 'embed') {
    const isNext = others.some(({ sourceId, kind }) => sourceId === source.id && kind !== 'embed');
    const settled = error === null ? 'active' : 'error';
    await sql
      .update(dataSources)
      .set({
        status: isNext ? 'processing' : settled,
        error,
        updatedAt: at,
        ...(error === null && { lastSyncedAt: at }),
      })
      .where(eq(dataSources.id, source.id));
  }
  const idle =
    error === null
      ? expression`'active'`
      : expression`case when ${knowledgeBases.chunkCount} = 0 then 'error' else 'active' end`;
  await sql
    .update(knowledgeBases)
    .set({ status: others.length === 0 ? idle : 'indexing', updatedAt: at })
    .where(eq(knowledgeBases.id, base.id));
}

/** Locks a knowledge base until the transaction ends. Returns false when it was deleted. */
export async function lockBase(sql: Sql, id: string): Promise<boolean> {
  const rows = sql.select({ id: knowledgeBases.id }).from(knowledgeBases).where(eq(knowledgeBases.id, id));
  return (await rows.for('update')).length === 1;
}

/** Selects the filter keys of a knowledge base. */
export async function selectFilterKeys(sql: Sql, knowledgeBaseId: string): Promise<string[]> {
  const rows = await sql
    .select({ key: filterKeys.key })
    .from(filterKeys)
    .where(eq(filterKeys.knowledgeBaseId, knowledgeBaseId));
  return rows.map(({ key }) => key);
}

/** Adds filter keys to a knowledge base. */
export async function insertFilterKeys(sql: Sql, knowledgeBaseId: string, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await sql.insert(filterKeys).values(keys.map((key) => ({ knowledgeBaseId, key })));
}

/** Deletes the filter keys that no document of the knowledge base has. Scans all of its documents. */
export async function deleteUnusedFilterKeys(sql: Sql, knowledgeBaseId: string): Promise<void> {
  const used = sql
    .selectDistinct({ key: expression<string>`jsonb_object_keys(${documents.metadata})`.as('key') })
    .from(documents)
    .where(eq(documents.knowledgeBaseId, knowledgeBaseId));
  await sql
    .delete(filterKeys)
    .where(and(eq(filterKeys.knowledgeBaseId, knowledgeBaseId), notInArray(filterKeys.key, used)));
}
