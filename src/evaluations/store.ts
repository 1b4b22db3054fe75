import { and, asc, desc, eq, sql as fragment, inArray, isNotNull, isNull } from 'drizzle-orm';
import { selectUnledgered } from '../billing/usage-store.ts';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { onlyVisibleBases } from '../knowledge-bases/store.ts';
import { newId } from '../lib/ids.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import type { EvaluationListQuery, Question } from './schema.ts';
import { evaluationResults, evaluations } from './tables.ts';

export type EvaluationRow = typeof evaluations.$inferSelect;
export type EvaluationResultRow = typeof evaluationResults.$inferSelect;

/** Questions of one insert. */
const INSERT_ROWS = 500;
/** Rows of one read of the outbox. */
const OUTBOX_ROWS = 200;

/** Inserts an evaluation. */
export async function insertEvaluation(sql: Sql, row: EvaluationRow): Promise<void> {
  await sql.insert(evaluations).values(row);
}

/** Inserts questions, or chunks from which questions are generated. Requires a transaction. */
export async function insertQuestions(
  sql: Sql,
  evaluationId: string,
  items: readonly { question: Question | null; chunkId: string | null }[],
): Promise<void> {
  const rows = items.map((item) => ({
    ...item,
    id: newId('evaluationResult'),
    evaluationId,
    status: 'pending' as const,
  }));
  for (let at = 0; at < rows.length; at += INSERT_ROWS) {
    await sql.insert(evaluationResults).values(rows.slice(at, at + INSERT_ROWS));
  }
}

/** Selects an evaluation of the organization; with `baseId`, only one of that knowledge base. */
export async function selectEvaluation(
  sql: Sql,
  organizationId: string,
  { id, baseId }: { id: string; baseId?: string },
): Promise<EvaluationRow | null> {
  const isOfBase = baseId === undefined ? undefined : eq(evaluations.knowledgeBaseId, baseId);
  const isVisible = onlyVisibleBases(evaluations.knowledgeBaseId);
  const isOwn = and(eq(evaluations.id, id), eq(evaluations.organizationId, organizationId), isOfBase, isVisible);
  const [row] = await sql.select().from(evaluations).where(isOwn);
  return row ?? null;
}

/** Selects the evaluation of a job; null when it has been deleted. */
export async function selectEvaluationOfJob(sql: Sql, id: string): Promise<EvaluationRow | null> {
  const [row] = await sql.select().from(evaluations).where(eq(evaluations.id, id));
  return row ?? null;
}

/** Selects evaluations of a knowledge base. */
export function selectEvaluations(
  sql: Sql,
  baseId: string,
  bounds: PageBounds,
  order?: EvaluationListQuery['order'],
): Promise<EvaluationRow[]> {
  const { isAfter, orderBy } = pageOrder(evaluations.id, bounds, order);
  const isOfBase = eq(evaluations.knowledgeBaseId, baseId);
  return sql
    .select()
    .from(evaluations)
    .where(and(isOfBase, isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** The newest evaluation of each question set that satisfies the condition. */
export function selectNewestRuns(
  sql: Sql,
  setIds: readonly string[],
  which: 'any' | 'completed' | 'compared',
): Promise<EvaluationRow[]> {
  const condition = {
    any: undefined,
    completed: eq(evaluations.status, 'completed'),
    compared: isNotNull(evaluations.comparison),
  };
  return sql
    .selectDistinctOn([evaluations.questionSetId])
    .from(evaluations)
    .where(and(inArray(evaluations.questionSetId, [...setIds]), condition[which]))
    .orderBy(evaluations.questionSetId, desc(evaluations.id));
}

/** Changes an evaluation whose status is one of `from`. Returns the new row; null when the status is another. */
export async function updateEvaluation(
  sql: Sql,
  { id, from }: { id: string; from: readonly EvaluationRow['status'][] },
  changes: Partial<EvaluationRow>,
): Promise<EvaluationRow | null> {
  const isIn = and(eq(evaluations.id, id), inArray(evaluations.status, [...from]));
  const [row] = await sql.update(evaluations).set(changes).where(isIn).returning();
  return row ?? null;
}

/** Deletes an evaluation with its results. */
export async function deleteEvaluationRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(evaluations).where(eq(evaluations.id, id));
}

/** Numbers of results of one evaluation by status, and their cost. */
export interface ResultCounts {
  pending: number;
  completed: number;
  failed: number;
  dropped: number;
  costMicros: number;
}

/** Counts the results of evaluations, by evaluation id. */
export async function countResults(sql: Sql, ids: readonly string[]): Promise<Map<string, ResultCounts>> {
  const counts = new Map(ids.map((id) => [id, { pending: 0, completed: 0, failed: 0, dropped: 0, costMicros: 0 }]));
  const { evaluationId, status, costMicros } = evaluationResults;
  const rows = await sql
    .select({
      id: evaluationId,
      status,
      count: fragment<number>`count(*)::int`,
      cost: fragment<string>`sum(${costMicros})`,
    })
    .from(evaluationResults)
    .where(inArray(evaluationId, [...ids]))
    .groupBy(evaluationId, status);
  for (const row of rows) {
    const count = counts.get(row.id);
    if (count === undefined) continue;
    count[row.status] = row.count;
    count.costMicros += Number(row.cost);
  }
  return counts;
}

/** Selects a page of results in the order of the questions. */
export function selectEvaluationResults(
  sql: Sql,
  evaluationId: string,
  bounds: PageBounds,
): Promise<EvaluationResultRow[]> {
  const { isAfter, orderBy } = pageOrder(evaluationResults.id, bounds);
  const isOfEvaluation = eq(evaluationResults.evaluationId, evaluationId);
  return sql
    .select()
    .from(evaluationResults)
    .where(and(isOfEvaluation, isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Questions with their measures, for figures and comparisons: completed ones only. */
export async function selectMeasures(
  sql: Sql,
  evaluationId: string,
): Promise<{ question: Question; measures: Record<string, number> }[]> {
  const measures = fragment<Record<string, number>>`${evaluationResults.result}->'measures'`;
  const rows = await sql
    .select({ question: evaluationResults.question, measures })
    .from(evaluationResults)
    .where(and(eq(evaluationResults.evaluationId, evaluationId), eq(evaluationResults.status, 'completed')))
    .orderBy(asc(evaluationResults.id));
  return rows.flatMap(({ question, measures }) => (question === null ? [] : [{ question, measures }]));
}

/** Selects the questions without a result. */
export function selectPending(sql: Sql, evaluationId: string): Promise<EvaluationResultRow[]> {
  return sql
    .select()
    .from(evaluationResults)
    .where(and(eq(evaluationResults.evaluationId, evaluationId), eq(evaluationResults.status, 'pending')))
    .orderBy(asc(evaluationResults.id));
}

/**
 * Stores what a step has done with a pending question, with the usage of its calls. Returns whether it was stored: not
 * when the question has a result already, or the evaluation was deleted.
 */
export async function saveStep(
  sql: Sql,
  id: string,
  { usage, ...changes }: Partial<EvaluationResultRow> & { usage: readonly UsageRecord[] },
): Promise<boolean> {
  const costMicros = usage.reduce((sum, record) => sum + record.costMicros, 0);
  const saved = await sql
    .update(evaluationResults)
    .set({
      ...changes,
      costMicros: fragment`${evaluationResults.costMicros} + ${costMicros}`,
      ...(usage.length > 0 && { unrecordedUsage: [...usage] }),
    })
    .where(
      and(
        eq(evaluationResults.id, id),
        eq(evaluationResults.status, 'pending'),
        isNull(evaluationResults.unrecordedUsage),
      ),
    )
    .returning({ id: evaluationResults.id });
  return saved.length > 0;
}

/** Rows and usage records that are not yet known to be in the ledger. */
export async function selectUnrecordedSteps(
  sql: Sql,
  evaluationId: string,
): Promise<{ ids: string[]; records: UsageRecord[] }> {
  const rows = await sql
    .select({ id: evaluationResults.id, usage: evaluationResults.unrecordedUsage })
    .from(evaluationResults)
    .where(and(eq(evaluationResults.evaluationId, evaluationId), isNotNull(evaluationResults.unrecordedUsage)))
    .limit(OUTBOX_ROWS);
  const records = await selectUnledgered(
    sql,
    rows.flatMap(({ usage }) => usage ?? []),
  );
  return { ids: rows.map(({ id }) => id), records };
}

/** Clears the usage of rows whose records are in the ledger. */
export async function clearUnrecorded(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql
    .update(evaluationResults)
    .set({ unrecordedUsage: null })
    .where(inArray(evaluationResults.id, [...ids]));
}
