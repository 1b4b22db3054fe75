import { and, asc, count, eq, sql as expression, getTableColumns, inArray, max, ne } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { chunks, documents } from '../documents/tables.ts';
import type { JobError } from '../jobs/job-error.ts';
import { ingestionJobs, jobDocuments } from '../jobs/tables.ts';
import { dataSources, knowledgeBases } from '../tables.ts';

export type JobRow = typeof ingestionJobs.$inferSelect;
export type SourceRow = typeof dataSources.$inferSelect;
export type BaseRow = typeof knowledgeBases.$inferSelect;
export type DocumentRow = typeof documents.$inferSelect;
export type NewChunkRow = typeof chunks.$inferInsert;

/** A job with what it works on. */
export interface JobContext {
  job: JobRow;
  source: SourceRow;
  base: BaseRow;
}

/** Rows of one statement: a chunk has ten parameters, and a statement may have 65,535. */
const ROWS_PER_STATEMENT = 500;

/** The job with its source and knowledge base; null where any of them is gone. */
export async function selectJobContext(sql: Sql, jobId: string): Promise<JobContext | null> {
  const [found] = await sql
    .select({ job: ingestionJobs, source: dataSources, base: knowledgeBases })
    .from(ingestionJobs)
    .innerJoin(dataSources, eq(dataSources.id, ingestionJobs.dataSourceId))
    .innerJoin(knowledgeBases, eq(knowledgeBases.id, ingestionJobs.knowledgeBaseId))
    .where(eq(ingestionJobs.id, jobId));
  return found ?? null;
}

/** Begins a run of the job, and says so of its source and its knowledge base. */
export async function beginRun(sql: Sql, { job, source, base }: JobContext, at: Date): Promise<void> {
  await sql
    .update(ingestionJobs)
    .set({ status: 'processing', attempts: job.attempts + 1, startedAt: job.startedAt ?? at, documentsScanned: 0 })
    .where(eq(ingestionJobs.id, job.id));
  if (job.kind === 'sync') {
    await sql.update(dataSources).set({ status: 'processing' }).where(eq(dataSources.id, source.id));
  }
  await sql.update(knowledgeBases).set({ status: 'indexing' }).where(eq(knowledgeBases.id, base.id));
}

/** Takes back that the job's run counts as an attempt: it was stopped, and broke on nothing. */
export async function takeBackAttempt(sql: Sql, jobId: string): Promise<void> {
  await sql
    .update(ingestionJobs)
    .set({ attempts: expression`greatest(${ingestionJobs.attempts} - 1, 0)` })
    .where(eq(ingestionJobs.id, jobId));
}

/** What is stored of an item, over all of its documents. */
export interface ItemState {
  itemKey: string;
  /** How many it has. */
  documents: number;
  /** Of its documents, each once; different ones where the item was not read to its end. */
  fingerprints: string[];
  /** Whether a document of it has failed. */
  hasFailed: boolean;
  /** Whether it is known of all its documents what they say of themselves. */
  hasOwnMetadata: boolean;
  /** The job that listed it last. */
  seenBy: string;
}

/** What is stored of those of the items that something is stored of. */
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

/** The document of a part of an item, or null. */
export async function selectPart(
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

/** What is left of an earlier state of an item: one of its documents, and how many others the job has written already. */
export async function selectEarlier(
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

/** Says that the job has read an item to its end: the documents that it has written are the item's, of this fingerprint. */
export async function completeItem(
  sql: Sql,
  { sourceId, itemKey, jobId }: { sourceId: string; itemKey: string; jobId: string },
  fingerprint: string,
): Promise<void> {
  await sql
    .update(documents)
    .set({ fingerprint })
    .where(and(eq(documents.dataSourceId, sourceId), eq(documents.itemKey, itemKey), eq(documents.seenBy, jobId)));
}

/** Says that the job has listed the items. */
export async function markSeen(sql: Sql, sourceId: string, itemKeys: readonly string[], jobId: string): Promise<void> {
  if (itemKeys.length === 0) return;
  await sql
    .update(documents)
    .set({ seenBy: jobId })
    .where(and(eq(documents.dataSourceId, sourceId), inArray(documents.itemKey, [...itemKeys])));
}

/** Up to `limit` documents of items that the job has not listed. */
export function selectUnseen(sql: Sql, sourceId: string, jobId: string, limit: number): Promise<DocumentRow[]> {
  return sql.select().from(documents).where(isUnseen(sourceId, jobId)).limit(limit);
}

/** Up to `limit` documents of the items that the job has not seen yet: their ids, and how many chunks they have. */
export function selectUnseenOf(
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

/** Adds to a job's counters. One that gets on with its documents may be run as often again. */
export async function addToJob(sql: Sql, jobId: string, counts: Partial<JobCounts>): Promise<void> {
  const sums = Object.fromEntries(
    Object.entries(counts).map(([name, n]) => [name, expression`${ingestionJobs[name as keyof JobCounts]} + ${n}`]),
  );
  const isProgress = (counts.documentsProcessed ?? 0) + (counts.documentsFailed ?? 0) > 0;
  const set = { ...sums, ...(isProgress && { attempts: 0 }) };
  if (Object.keys(set).length > 0) await sql.update(ingestionJobs).set(set).where(eq(ingestionJobs.id, jobId));
}

/** What a job counts. */
export type JobCounts = Record<
  | 'documentsProcessed'
  | 'documentsFailed'
  | 'chunksCreated'
  | 'documentsScanned'
  | 'documentsNew'
  | 'documentsModified'
  | 'documentsDeleted'
  | 'documentsSkipped',
  number
>;

/**
 * Holds the source against its deletion until the transaction ends. False where it is gone: then nothing may be written of it. The
 * knowledge base is held too, always first, so that nobody waits for each other.
 */
export async function lockSource(sql: Sql, baseId: string, sourceId: string): Promise<boolean> {
  await sql.select({ id: knowledgeBases.id }).from(knowledgeBases).where(eq(knowledgeBases.id, baseId)).for('update');
  const rows = await sql
    .select({ id: dataSources.id })
    .from(dataSources)
    .where(eq(dataSources.id, sourceId))
    .for('update');
  return rows.length === 1;
}

/** The documents, those that are still there. */
export function selectDocuments(sql: Sql, ids: readonly string[]): Promise<DocumentRow[]> {
  return sql
    .select()
    .from(documents)
    .where(inArray(documents.id, [...ids]))
    .orderBy(asc(documents.id));
}

/** Which of the documents are still there. */
export async function selectDocumentsLeft(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql
    .select({ id: documents.id })
    .from(documents)
    .where(inArray(documents.id, [...ids]));
  return new Set(rows.map(({ id }) => id));
}

/**
 * Writes documents with their chunks in place of what was stored of them. `before` are those of which something was: the others are new.
 * At most some hundred at once.
 */
export async function replaceDocuments(
  sql: Sql,
  rows: readonly DocumentRow[],
  { before, chunks: newChunks }: { before: readonly string[]; chunks: readonly NewChunkRow[] },
): Promise<void> {
  if (rows.length === 0) return;
  const { id, createdAt, ...columns } = getTableColumns(documents);
  const changes = Object.fromEntries(
    Object.entries(columns).map(([key, { name }]) => [key, expression.raw(`excluded."${name}"`)]),
  );
  await sql
    .insert(documents)
    .values([...rows])
    .onConflictDoUpdate({ target: documents.id, set: changes });
  if (before.length > 0) await sql.delete(chunks).where(inArray(chunks.documentId, [...before]));
  for (let from = 0; from < newChunks.length; from += ROWS_PER_STATEMENT) {
    await sql.insert(chunks).values(newChunks.slice(from, from + ROWS_PER_STATEMENT));
  }
}

/** Removes documents with their chunks. */
export async function deleteDocumentRows(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.delete(documents).where(inArray(documents.id, [...ids]));
}

/** Says what came of documents in the job. A later run of the job says it anew. At most some hundred at once. */
export async function upsertJobDocuments(sql: Sql, rows: readonly (typeof jobDocuments.$inferInsert)[]): Promise<void> {
  if (rows.length === 0) return;
  const { jobId, documentId, ...columns } = getTableColumns(jobDocuments);
  const changes = Object.fromEntries(
    Object.entries(columns).map(([key, { name }]) => [key, expression.raw(`excluded."${name}"`)]),
  );
  await sql
    .insert(jobDocuments)
    .values([...rows])
    .onConflictDoUpdate({ target: [jobDocuments.jobId, jobDocuments.documentId], set: changes });
}

/** Adds to the numbers of a source and of its knowledge base: `documents` and `chunks` may be negative. */
export async function addToCounts(
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

/** Ends the job, and says what it came to of its source and its knowledge base. */
export async function endJob(
  sql: Sql,
  { job, source, base }: JobContext,
  { error, at }: { error: JobError | null; at: Date },
): Promise<void> {
  await sql
    .update(ingestionJobs)
    .set({ status: error === null ? 'completed' : 'failed', error, completedAt: at })
    .where(eq(ingestionJobs.id, job.id));
  const others = await sql
    .select({ sourceId: ingestionJobs.dataSourceId, kind: ingestionJobs.kind })
    .from(ingestionJobs)
    .where(and(eq(ingestionJobs.knowledgeBaseId, base.id), inArray(ingestionJobs.status, ['queued', 'processing'])));
  if (job.kind === 'sync') {
    const isNext = others.some(({ sourceId, kind }) => sourceId === source.id && kind === 'sync');
    const settled = error === null ? 'active' : 'error';
    await sql
      .update(dataSources)
      .set({ status: isNext ? 'processing' : settled, updatedAt: at, ...(error === null && { lastSyncedAt: at }) })
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
