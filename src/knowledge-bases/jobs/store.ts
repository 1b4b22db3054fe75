import { and, asc, desc, eq, sql as expression, gt, inArray, lt } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { type PageBounds, pageOrder } from '../../db/page.ts';
import type { JobListQuery, JobQuery, OcrProgress } from './schema.ts';
import { ingestionJobs, jobDocuments } from './tables.ts';

export type JobRow = typeof ingestionJobs.$inferSelect;
export type JobDocumentRow = typeof jobDocuments.$inferSelect;

/** A new job. */
export function newJobRow({
  id,
  kind = 'sync',
  source,
  keyId,
  createdAt,
}: {
  id: string;
  kind?: JobRow['kind'];
  source: { id: string; knowledgeBaseId: string; organizationId: string };
  keyId: string;
  createdAt: Date;
}): JobRow {
  return {
    id,
    knowledgeBaseId: source.knowledgeBaseId,
    dataSourceId: source.id,
    organizationId: source.organizationId,
    keyId,
    kind,
    status: 'queued',
    attempts: 0,
    run: 0,
    documentsProcessed: 0,
    documentsFailed: 0,
    chunksCreated: 0,
    documentsScanned: 0,
    documentsNew: 0,
    documentsModified: 0,
    documentsDeleted: 0,
    documentsSkipped: 0,
    documentsPendingDeletion: 0,
    reading: [],
    error: null,
    createdAt,
    startedAt: null,
    completedAt: null,
  };
}

/** Inserts a job. */
export async function insertJob(sql: Sql, row: JobRow): Promise<void> {
  await sql.insert(ingestionJobs).values(row);
}

/** Changes the mode of a queued job to `sync`. */
export async function updateToSync(sql: Sql, id: string): Promise<void> {
  await sql.update(ingestionJobs).set({ kind: 'sync' }).where(eq(ingestionJobs.id, id));
}

/** Selects the unfinished jobs of a data source, newest first. */
export function selectUnfinishedJobs(sql: Sql, dataSourceId: string): Promise<JobRow[]> {
  return sql
    .select()
    .from(ingestionJobs)
    .where(and(eq(ingestionJobs.dataSourceId, dataSourceId), inArray(ingestionJobs.status, ['queued', 'processing'])))
    .orderBy(desc(ingestionJobs.id));
}

/** Selects the unfinished jobs of a knowledge base, newest first. */
export function selectUnfinishedJobsOfBase(sql: Sql, baseId: string): Promise<JobRow[]> {
  return sql
    .select()
    .from(ingestionJobs)
    .where(and(eq(ingestionJobs.knowledgeBaseId, baseId), inArray(ingestionJobs.status, ['queued', 'processing'])));
}

/** Returns the organization's job of that knowledge base, or null. */
export async function selectJob(
  sql: Sql,
  organizationId: string,
  { baseId, id }: { baseId: string; id: string },
): Promise<JobRow | null> {
  const [row] = await sql
    .select()
    .from(ingestionJobs)
    .where(
      and(
        eq(ingestionJobs.organizationId, organizationId),
        eq(ingestionJobs.knowledgeBaseId, baseId),
        eq(ingestionJobs.id, id),
      ),
    );
  return row ?? null;
}

/** Selects the jobs of a knowledge base, optionally of one status or data source, in id (creation) order. */
export function selectJobs(
  sql: Sql,
  baseId: string,
  { status, data_source_id, order }: Omit<JobListQuery, keyof PageBounds>,
  bounds: PageBounds,
): Promise<JobRow[]> {
  const { isAfter, orderBy } = pageOrder(ingestionJobs.id, bounds, order);
  return sql
    .select()
    .from(ingestionJobs)
    .where(
      and(
        eq(ingestionJobs.knowledgeBaseId, baseId),
        status === undefined ? undefined : eq(ingestionJobs.status, status),
        data_source_id === undefined ? undefined : eq(ingestionJobs.dataSourceId, data_source_id),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects the newest jobs of a knowledge base, newest first. */
export function selectNewestJobs(sql: Sql, baseId: string, limit: number): Promise<JobRow[]> {
  return sql
    .select()
    .from(ingestionJobs)
    .where(eq(ingestionJobs.knowledgeBaseId, baseId))
    .orderBy(desc(ingestionJobs.id))
    .limit(limit);
}

/** Selects the existing jobs among the ids, in no particular order. */
export function selectJobsOfIds(sql: Sql, baseId: string, ids: readonly string[]): Promise<JobRow[]> {
  return sql
    .select()
    .from(ingestionJobs)
    .where(and(eq(ingestionJobs.knowledgeBaseId, baseId), inArray(ingestionJobs.id, [...ids])));
}

/** Selects the document results of a job, in the order of their ids. */
export function selectJobDocuments(
  sql: Sql,
  jobId: string,
  { details_after, details_status, details_with_warnings }: JobQuery,
  limit: number,
): Promise<JobDocumentRow[]> {
  return sql
    .select()
    .from(jobDocuments)
    .where(
      and(
        eq(jobDocuments.jobId, jobId),
        details_status === undefined ? undefined : eq(jobDocuments.status, details_status),
        details_with_warnings === true ? expression`jsonb_array_length(${jobDocuments.warnings}) > 0` : undefined,
        details_after === undefined ? undefined : gt(jobDocuments.documentId, details_after),
      ),
    )
    .orderBy(asc(jobDocuments.documentId))
    .limit(limit);
}

/** Whether the last completed sync of the source before the job has left deletions to the next one. */
export async function hasPendingDeletions(sql: Sql, sourceId: string, jobId: string): Promise<boolean> {
  const isEarlier = and(eq(ingestionJobs.dataSourceId, sourceId), lt(ingestionJobs.id, jobId));
  const [last] = await sql
    .select({ pending: ingestionJobs.documentsPendingDeletion })
    .from(ingestionJobs)
    .where(and(isEarlier, eq(ingestionJobs.kind, 'sync'), eq(ingestionJobs.status, 'completed')))
    .orderBy(desc(ingestionJobs.id))
    .limit(1);
  return (last?.pending ?? 0) > 0;
}

/** Sets the number of deletions that a job leaves to the next one. */
export async function setPendingDeletions(sql: Sql, jobId: string, documentsPendingDeletion: number): Promise<void> {
  await sql.update(ingestionJobs).set({ documentsPendingDeletion }).where(eq(ingestionJobs.id, jobId));
}

/** Sets the progress of OCR. Returns false, writing nothing, when the run is superseded or the job has ended. */
export async function setReading(
  sql: Sql,
  { id, run }: Pick<JobRow, 'id' | 'run'>,
  reading: OcrProgress[],
): Promise<boolean> {
  const isCurrent = and(eq(ingestionJobs.run, run), eq(ingestionJobs.status, 'processing'));
  const written = await sql
    .update(ingestionJobs)
    .set({ reading })
    .where(and(eq(ingestionJobs.id, id), isCurrent))
    .returning({ id: ingestionJobs.id });
  return written.length > 0;
}

/** Increments counters of a job. Finished documents reset its attempts. */
export async function incrementJobCounts(sql: Sql, jobId: string, counts: Partial<JobCounts>): Promise<void> {
  const sums = Object.fromEntries(
    Object.entries(counts).map(([name, n]) => [name, expression`${ingestionJobs[name as keyof JobCounts]} + ${n}`]),
  );
  const isProgress = (counts.documentsProcessed ?? 0) + (counts.documentsFailed ?? 0) > 0;
  const set = { ...sums, ...(isProgress && { attempts: 0 }) };
  if (Object.keys(set).length > 0) await sql.update(ingestionJobs).set(set).where(eq(ingestionJobs.id, jobId));
}

/** Counters of a job. */
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
