import { bigint, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { knowledgeBaseColumn } from '../knowledge-bases/tables.ts';
import type { StoredCaller } from '../lib/stored-caller.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import type {
  CreateEvaluation,
  EvaluationComparison,
  EvaluationConfiguration,
  EvaluationResource,
  EvaluationResult,
  EvaluationStatus,
  EvaluationSummary,
  Question,
} from './schema.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });

/** Saved questions of a knowledge base. */
export const questionSets = pgTable(
  'question_sets',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    knowledgeBaseId: knowledgeBaseColumn(),
    name: text().notNull(),
    questions: jsonb().$type<Question[]>().notNull(),
    /** `after_sync`, an interval or a cron expression. */
    schedule: text(),
    configuration: jsonb().$type<EvaluationConfiguration>().notNull(),
    judgeModel: text('judge_model'),
    /** Who saved the set last: its scheduled runs have the permissions and limits of that key. */
    caller: jsonb().$type<StoredCaller>().notNull(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [index('question_sets_by_knowledge_base').on(table.knowledgeBaseId, table.id)],
);

/** A comparison. Rows of earlier versions lack fields. */
type StoredComparison = Omit<EvaluationComparison, 'judged' | 'baseline_knowledge_base_id'> &
  Partial<EvaluationComparison>;

/** Evaluations. The counts of questions and the cost are sums over the rows of `evaluation_results`. */
export const evaluations = pgTable(
  'evaluations',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    knowledgeBaseId: knowledgeBaseColumn(),
    questionSetId: text('question_set_id').references(() => questionSets.id, { onDelete: 'set null' }),
    name: text().notNull(),
    /** The key that created the evaluation, as it was then: its calls have the permissions of that key. */
    caller: jsonb().$type<StoredCaller>().notNull(),
    configuration: jsonb().$type<EvaluationConfiguration>().notNull(),
    judgeModel: text('judge_model'),
    generate: jsonb().$type<NonNullable<CreateEvaluation['generate']>>(),
    seed: integer().notNull(),
    status: text().$type<EvaluationStatus>().notNull(),
    baselineId: text('baseline_id'),
    summary: jsonb().$type<EvaluationSummary>(),
    comparison: jsonb().$type<StoredComparison>(),
    error: jsonb().$type<NonNullable<EvaluationResource['error']>>(),
    createdAt: time('created_at').notNull(),
    startedAt: time('started_at'),
    endedAt: time('ended_at'),
  },
  (table) => [
    index('evaluations_by_knowledge_base').on(table.knowledgeBaseId, table.id),
    index('evaluations_by_question_set').on(table.questionSetId, table.id),
  ],
);

/** The outcome of a question. Rows of versions before judge models have no judgement. */
export type QuestionOutcome = Pick<
  EvaluationResult,
  'measures' | 'evidence_ranks' | 'hits' | 'answer' | 'cited_chunk_ids'
> &
  Partial<Pick<EvaluationResult, 'judgement'>>;

/** Questions of evaluations with their results. Ids are in the order of the questions. */
export const evaluationResults = pgTable(
  'evaluation_results',
  {
    id: text().primaryKey(),
    evaluationId: text('evaluation_id')
      .notNull()
      .references(() => evaluations.id, { onDelete: 'cascade' }),
    /** Null until it is generated from `chunkId`. */
    question: jsonb().$type<Question>(),
    chunkId: text('chunk_id'),
    status: text({ enum: ['pending', 'completed', 'failed', 'dropped'] }).notNull(),
    /** Present while pending: answered, but not scored by the judge model yet. */
    result: jsonb().$type<QuestionOutcome>(),
    error: jsonb().$type<NonNullable<EvaluationResource['error']>>(),
    costMicros: bigint('cost_micros', { mode: 'number' }).notNull().default(0),
    /** Usage that is not yet known to be in the ledger (transactional outbox). */
    unrecordedUsage: jsonb('unrecorded_usage').$type<UsageRecord[]>(),
  },
  (table) => [index('evaluation_results_by_evaluation').on(table.evaluationId, table.id)],
);
