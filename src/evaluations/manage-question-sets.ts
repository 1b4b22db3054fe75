import { findRow } from '../db/find-row.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { refuseNul, requireText } from '../knowledge-bases/create-knowledge-base.ts';
import { requireSchedule } from '../knowledge-bases/data-sources/schedule.ts';
import { findKnowledgeBase } from '../knowledge-bases/find-knowledge-base.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { storeCaller } from '../lib/stored-caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { requireConfiguration, requireJudgedAnswers, requireQuestions } from './create-evaluation.ts';
import {
  deleteQuestionSetRow,
  insertQuestionSet,
  lockQuestionSet,
  type QuestionSetRow,
  selectQuestionSet,
  selectQuestionSets,
  updateQuestionSetRow,
} from './question-set-store.ts';
import {
  type CreateQuestionSet,
  type EvaluationListQuery,
  type ListedQuestionSet,
  MAX_QUESTIONS,
  type QuestionSet,
  type QuestionSetParams,
  type UpdateQuestionSet,
} from './schema.ts';
import { selectNewestRuns } from './store.ts';

/** Schedule of a set that runs after every sync that changed documents. */
export const AFTER_SYNC = 'after_sync';

type SetDeps = Pick<Deps, 'db' | 'models' | 'now'>;

/** Saves a question set. Throws 404, 403 and 400 as an evaluation of it would. */
export async function createQuestionSet(
  deps: SetDeps,
  call: Call,
  baseId: string,
  body: CreateQuestionSet,
): Promise<QuestionSet> {
  const { organizationId } = call.caller;
  const base = await findKnowledgeBase(deps, organizationId, baseId);
  const at = new Date(deps.now());
  const row: QuestionSetRow = {
    id: newId('questionSet'),
    organizationId,
    knowledgeBaseId: base.id,
    name: body.name,
    questions: body.questions,
    schedule: body.schedule ?? null,
    configuration: body.configuration ?? {},
    judgeModel: body.judge_model ?? null,
    caller: storeCaller(call.caller),
    createdAt: at,
    updatedAt: at,
  };
  requireSet(row);
  await requireConfiguration(deps, call, base.id, row);
  await insertQuestionSet(deps.db.sql, row);
  return viewSet(deps, row);
}

/** Lists the question sets of a knowledge base. Throws 404 `knowledge_base_not_found`. */
export async function listQuestionSets(deps: Pick<Deps, 'db'>, call: Call, baseId: string, query: EvaluationListQuery) {
  const bounds = pageBounds(query, 'questionSet');
  const base = await findKnowledgeBase(deps, call.caller.organizationId, baseId);
  const rows = await selectQuestionSets(deps.db.sql, base.id, bounds, query.order);
  return page(await viewListedSets(deps, rows), bounds.limit);
}

/** Returns a question set with its questions. Throws 404 `question_set_not_found`. */
export async function getQuestionSet(
  deps: Pick<Deps, 'db'>,
  call: Call,
  params: QuestionSetParams,
): Promise<QuestionSet> {
  return viewSet(deps, await findSet(deps.db, call, params, selectQuestionSet));
}

/** Changes a question set. Throws 404, 403 and 400 as an evaluation of it would. */
export async function updateQuestionSet(
  deps: SetDeps,
  call: Call,
  params: QuestionSetParams,
  body: UpdateQuestionSet,
): Promise<QuestionSet> {
  const { configuration = {}, judge_model: judgeModel = null } = body;
  await requireConfiguration(deps, call, params.kb_id, { configuration, judgeModel });
  const row = await deps.db.sql.transaction(async (sql) => {
    const current = await findSet({ sql }, call, params, lockQuestionSet);
    const { add_questions = [], questions = current.questions, judge_model = current.judgeModel, ...changes } = body;
    const changed: QuestionSetRow = {
      ...current,
      ...changes,
      judgeModel: judge_model,
      questions: [...questions, ...add_questions],
      caller: storeCaller(call.caller),
      updatedAt: new Date(deps.now()),
    };
    requireSet(changed);
    await updateQuestionSetRow(sql, changed);
    return changed;
  });
  return viewSet(deps, row);
}

/** Deletes a question set. Its evaluations are kept. */
export async function deleteQuestionSet(deps: Pick<Deps, 'db'>, call: Call, params: QuestionSetParams) {
  const { id } = await findSet(deps.db, call, params, selectQuestionSet);
  await deleteQuestionSetRow(deps.db.sql, id);
  return { id, object: 'question_set', deleted: true } as const;
}

function requireSet(row: QuestionSetRow): void {
  requireText(row.name, 'name');
  if (row.schedule !== null && row.schedule !== AFTER_SYNC)
    requireSchedule(refuseNul(row.schedule, 'schedule'), 'schedule');
  if (row.questions.length > MAX_QUESTIONS)
    throw invalidValue('add_questions', `must leave at most ${MAX_QUESTIONS} questions`);
  requireQuestions(row.questions, 'questions');
  requireJudgedAnswers(row);
}

/** A set of another knowledge base, or of one of another organization, is not found. */
function findSet(
  { sql }: Pick<Deps['db'], 'sql'>,
  { caller: { organizationId } }: Call,
  { kb_id: baseId, question_set_id: id }: QuestionSetParams,
  select: typeof selectQuestionSet,
): Promise<QuestionSetRow> {
  return findRow('questionSet', id, 'question_set_id', () => select(sql, organizationId, { id, baseId }));
}

async function viewListedSets({ db }: Pick<Deps, 'db'>, rows: readonly QuestionSetRow[]): Promise<ListedQuestionSet[]> {
  const runs = await selectNewestRuns(
    db.sql,
    rows.map(({ id }) => id),
    'compared',
  );
  return rows.map((row) => ({
    id: row.id,
    object: 'question_set',
    knowledge_base_id: row.knowledgeBaseId,
    name: row.name,
    question_count: row.questions.length,
    schedule: row.schedule,
    configuration: row.configuration,
    judge_model: row.judgeModel,
    last_verdict: runs.find(({ questionSetId }) => questionSetId === row.id)?.comparison?.verdict ?? null,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  }));
}

async function viewSet(deps: Pick<Deps, 'db'>, row: QuestionSetRow): Promise<QuestionSet> {
  const [listed] = await viewListedSets(deps, [row]);
  if (listed === undefined) throw new Error(`${row.id} was not converted`);
  return { ...listed, questions: row.questions };
}
