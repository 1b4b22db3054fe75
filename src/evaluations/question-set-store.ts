import { and, eq, sql as fragment, isNotNull } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { ingestionJobs } from '../knowledge-bases/jobs/tables.ts';
import { onlyVisibleBases } from '../knowledge-bases/store.ts';
import type { EvaluationListQuery } from './schema.ts';
import { questionSets } from './tables.ts';

export type QuestionSetRow = typeof questionSets.$inferSelect;

/** Inserts a question set. */
export async function insertQuestionSet(sql: Sql, row: QuestionSetRow): Promise<void> {
  await sql.insert(questionSets).values(row);
}

/** Selects a question set of the organization's knowledge base; null when it does not exist. */
export async function selectQuestionSet(
  sql: Sql,
  organizationId: string,
  ref: { id: string; baseId: string },
): Promise<QuestionSetRow | null> {
  const [row] = await sql.select().from(questionSets).where(isSet(organizationId, ref));
  return row ?? null;
}

/** Like `selectQuestionSet`, with a row lock until the transaction ends. */
export async function lockQuestionSet(
  sql: Sql,
  organizationId: string,
  ref: { id: string; baseId: string },
): Promise<QuestionSetRow | null> {
  const [row] = await sql.select().from(questionSets).where(isSet(organizationId, ref)).for('update');
  return row ?? null;
}

/** Selects question sets of a knowledge base. */
export function selectQuestionSets(
  sql: Sql,
  baseId: string,
  bounds: PageBounds,
  order?: EvaluationListQuery['order'],
): Promise<QuestionSetRow[]> {
  const { isAfter, orderBy } = pageOrder(questionSets.id, bounds, order);
  const isOfBase = eq(questionSets.knowledgeBaseId, baseId);
  return sql
    .select()
    .from(questionSets)
    .where(and(isOfBase, isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects the question sets that run on a schedule. */
export function selectScheduledSets(sql: Sql): Promise<QuestionSetRow[]> {
  return sql.select().from(questionSets).where(isNotNull(questionSets.schedule));
}

/**
 * When a sync last changed documents of a knowledge base. `isIdle` is false while a job is queued or runs. `at` is null
 * without such a sync.
 */
export async function selectSyncState(sql: Sql, baseId: string): Promise<{ isIdle: boolean; at: Date | null }> {
  const { documentsNew, documentsModified, documentsDeleted, status, completedAt } = ingestionJobs;
  const isChange = fragment`${documentsNew} + ${documentsModified} + ${documentsDeleted} > 0`;
  const [row] = await sql
    .select({
      isIdle: fragment<boolean>`coalesce(bool_and(${status} in ('completed', 'failed')), true)`,
      seconds: fragment<string | null>`extract(epoch from max(${completedAt}) filter (where ${isChange}))`,
    })
    .from(ingestionJobs)
    .where(eq(ingestionJobs.knowledgeBaseId, baseId));
  const seconds = row?.seconds ?? null;
  return { isIdle: row?.isIdle ?? true, at: seconds === null ? null : new Date(Number(seconds) * 1_000) };
}

/** Changes a question set. */
export async function updateQuestionSetRow(sql: Sql, row: QuestionSetRow): Promise<void> {
  await sql.update(questionSets).set(row).where(eq(questionSets.id, row.id));
}

/** Deletes a question set. Its evaluations are kept. */
export async function deleteQuestionSetRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(questionSets).where(eq(questionSets.id, id));
}

function isSet(organizationId: string, { id, baseId }: { id: string; baseId: string }) {
  return and(
    eq(questionSets.id, id),
    eq(questionSets.organizationId, organizationId),
    eq(questionSets.knowledgeBaseId, baseId),
    onlyVisibleBases(questionSets.knowledgeBaseId),
  );
}
