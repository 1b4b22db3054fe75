import { text } from 'node:stream/consumers';
import type { Sql } from '../db/db.ts';
import { findRow } from '../db/find-row.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, missingField } from '../errors.ts';
import { findFile } from '../files/find-file.ts';
import { readContent } from '../files/read-content.ts';
import { requireScope } from '../http/auth.ts';
import { parse } from '../http/validation.ts';
import { resolveModel } from '../inference/admission.ts';
import { findKnowledgeBase } from '../knowledge-bases/find-knowledge-base.ts';
import { findKnowledgeBases } from '../knowledge-bases/grounding/ground-prompt.ts';
import type { Call, Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { parseJson } from '../lib/json.ts';
import { storeCaller } from '../lib/stored-caller.ts';
import { RUN_EVALUATION } from './evaluation-job.ts';
import { listFacts } from './evidence.ts';
import { selectQuestionSet } from './question-set-store.ts';
import {
  type CreateEvaluation,
  type EvaluationConfiguration,
  type EvaluationResource,
  MAX_QUESTIONS,
  Question,
} from './schema.ts';
import { type EvaluationRow, insertEvaluation, insertQuestions, selectEvaluation, selectNewestRuns } from './store.ts';
import { viewEvaluation } from './view-evaluation.ts';

/** Dependencies of the routes. */
export type EvaluationDeps = Pick<Deps, 'db' | 'jobs' | 'models' | 'blobs' | 'now'>;

/** Maximum bytes of a file with questions. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
const SOURCES = ['questions', 'file_id', 'question_set_id', 'generate'] as const;

/**
 * Creates an evaluation, which a job runs. Throws 404 for unknown ids and models, 403 for a key that may not call a
 * model of the configuration, and 400 unless exactly one of `SOURCES` names the questions.
 */
export async function createEvaluation(
  deps: EvaluationDeps,
  call: Call,
  baseId: string,
  body: CreateEvaluation,
): Promise<EvaluationResource> {
  const { caller } = call;
  const { organizationId } = caller;
  const base = await findKnowledgeBase(deps, organizationId, baseId);
  const sources = SOURCES.filter((source) => body[source] !== undefined);
  if (sources.length === 0) throw missingField('questions');
  if (sources.length > 1) throw invalidValue(sources[1] ?? '', `must not be given beside '${sources[0]}'`);
  const { question_set_id, baseline_id, generate = null } = body;
  const set =
    question_set_id === undefined
      ? null
      : await findRow('questionSet', question_set_id, 'question_set_id', () =>
          selectQuestionSet(deps.db.sql, organizationId, { id: question_set_id, baseId }),
        );
  const configuration = changeConfiguration(set?.configuration, body.configuration);
  const judgeModel = body.judge_model === undefined ? (set?.judgeModel ?? null) : body.judge_model;
  await requireConfiguration(deps, call, baseId, { configuration, judgeModel });
  requireJudgedAnswers({ configuration, judgeModel });
  if (generate !== null) requireModel(deps, caller, generate.model, 'generate.model');
  if (baseline_id !== undefined)
    await findRow('evaluation', baseline_id, 'baseline_id', () =>
      selectEvaluation(deps.db.sql, organizationId, { id: baseline_id }),
    );
  const previous = set === null ? [] : await selectNewestRuns(deps.db.sql, [set.id], 'completed');
  const questions = set?.questions ?? body.questions ?? (await readQuestions(deps, organizationId, body.file_id));
  if (set === null) requireQuestions(questions, 'questions');
  const row = newRow({
    organizationId,
    knowledgeBaseId: base.id,
    questionSetId: set?.id ?? null,
    name: body.name ?? set?.name ?? base.name,
    caller: storeCaller(caller),
    configuration,
    judgeModel,
    generate,
    seed: body.seed ?? 0,
    // A run of a set is compared with the run before.
    baselineId: baseline_id ?? previous[0]?.id ?? null,
    createdAt: new Date(deps.now()),
  });
  await deps.db.sql.transaction((sql) => queueEvaluation(sql, deps, row, questions));
  return viewEvaluation(deps, row);
}

type NewEvaluation = Omit<
  EvaluationRow,
  'id' | 'status' | 'summary' | 'comparison' | 'error' | 'startedAt' | 'endedAt'
>;

/** Returns the row of an evaluation that waits for its job. */
export function newRow(fields: NewEvaluation): EvaluationRow {
  const empty = { summary: null, comparison: null, error: null, startedAt: null, endedAt: null };
  return { id: newId('evaluation'), status: 'queued', ...empty, ...fields };
}

/** Inserts an evaluation and its questions, and enqueues its job, in the transaction. */
export async function queueEvaluation(
  sql: Sql,
  { jobs }: Pick<Deps, 'jobs'>,
  row: EvaluationRow,
  questions: readonly Question[],
): Promise<void> {
  await insertEvaluation(sql, row);
  await insertQuestions(
    sql,
    row.id,
    questions.map((question) => ({ question, chunkId: null })),
  );
  await jobs.enqueue(sql, RUN_EVALUATION, { evaluationId: row.id }, { key: row.id, group: row.organizationId });
}

/** Returns a configuration with changes. Null removes a field. */
function changeConfiguration(
  base: EvaluationConfiguration = {},
  changes: CreateEvaluation['configuration'] = {},
): EvaluationConfiguration {
  const fields = Object.entries({ ...base, ...changes });
  return Object.fromEntries(fields.filter(([, value]) => value !== null));
}

/** How an evaluation answers, and the model that scores its answers. */
type JudgedConfiguration = Pick<EvaluationRow, 'configuration' | 'judgeModel'>;

/** Throws 403 and 404 as the calls of an evaluation would: for models that are unknown or not of the key. */
export async function requireConfiguration(
  deps: Pick<Deps, 'db' | 'models'>,
  call: Call,
  baseId: string,
  { configuration: { model, rerank, rerank_model }, judgeModel }: JudgedConfiguration,
): Promise<void> {
  await findKnowledgeBases(deps, call, [baseId], 'kb_id');
  if (model !== undefined) requireModel(deps, call.caller, model, 'configuration.model');
  if (rerank || rerank_model !== undefined)
    resolveModel(deps, call.caller, { kind: 'rerank', model: rerank_model, param: 'configuration.rerank_model' });
  if (judgeModel !== null) requireModel(deps, call.caller, judgeModel, 'judge_model');
}

/** Throws 400 for a judge model without a model whose answers it scores. */
export function requireJudgedAnswers({ configuration, judgeModel }: JudgedConfiguration): void {
  if (judgeModel !== null && configuration.model === undefined)
    throw invalidValue('judge_model', "must not be given without 'configuration.model'");
}

function requireModel(deps: Pick<Deps, 'models'>, caller: Caller, model: string, param: string): void {
  requireScope(caller, 'inference', param);
  resolveModel(deps, caller, { kind: 'chat', model, param });
}

/** Throws 400 for questions that cannot be measured, or that the database cannot store. */
export function requireQuestions(questions: readonly Question[], param: string): void {
  for (const [index, question] of questions.entries()) requireQuestion(question, `${param}.${index}`);
}

function requireQuestion(question: Question, at: string): void {
  const { document, passage, unanswerable = false } = question;
  const hasEvidence = listFacts(question).length > 0 || passage !== undefined || document !== undefined;
  if (question.question.trim() === '') throw invalidValue(`${at}.question`, 'must not be blank');
  if (!unanswerable && !hasEvidence) throw missingField(`${at}.answer`);
  if (unanswerable && hasEvidence) throw invalidValue(`${at}.unanswerable`, 'must not be true beside an answer');
  // The escape of an escaped backslash is harmless, and rare enough to reject.
  if (JSON.stringify(question).includes('\\u0000')) throw invalidValue(at, 'must not contain NUL characters');
}

/** Reads the questions of an uploaded JSONL file; blank lines are skipped. */
async function readQuestions(deps: EvaluationDeps, organizationId: string, fileId?: string): Promise<Question[]> {
  if (fileId === undefined) return [];
  const file = await findFile(deps, organizationId, fileId);
  if (file.bytes > MAX_FILE_BYTES) throw invalidValue('file_id', `must be a file of at most ${MAX_FILE_BYTES} bytes`);
  const content = await text(await readContent(deps, file, null, AbortSignal.timeout(60_000)));
  const lines = content
    .replace(/^\ufeff/, '')
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]));
  if (lines.length === 0 || lines.length > MAX_QUESTIONS)
    throw invalidValue('file_id', `must be a file of 1 to ${MAX_QUESTIONS} questions; this one has ${lines.length}`);
  return lines.map(({ line, number }) => {
    const at = `file_id.lines.${number}`;
    const question = parse(Question, parseJson(line) ?? null, at);
    requireQuestion(question, at);
    return question;
  });
}
