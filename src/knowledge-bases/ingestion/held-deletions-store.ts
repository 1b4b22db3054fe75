import { and, count, desc, eq, sql as expression, lt } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { documents } from '../documents/tables.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import type { JobContext } from './store.ts';

/** Counts the documents that a source had before the job started (`earlier`), and how many of them the job has not listed (`unseen`). */
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

/** Whether the last completed sync of the source before the job has left deletions to the next one. */
export async function hasPendingDeletions(sql: Sql, { job, source }: JobContext): Promise<boolean> {
  const isEarlier = and(eq(ingestionJobs.dataSourceId, source.id), lt(ingestionJobs.id, job.id));
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
