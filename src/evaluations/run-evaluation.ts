import { LINE_RETRY } from '../batches/line-retry.ts';
import type { ChatDeps } from '../chat/start-chat.ts';
import type { Deps } from '../deps.ts';
import { knownError } from '../http/known-error.ts';
import { findKnowledgeBase } from '../knowledge-bases/find-knowledge-base.ts';
import type { Call } from '../lib/caller.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import { newId } from '../lib/ids.ts';
import { describeError } from '../lib/operator-error.ts';
import { retry } from '../lib/retry.ts';
import { runPeriodically } from '../lib/run-periodically.ts';
import { settleAll } from '../lib/settle-all.ts';
import { restoreCaller } from '../lib/stored-caller.ts';
import { type ReservedUsage, releaseCredits } from '../lib/usage-record.ts';
import { compareWithBaseline } from './compare-evaluations.ts';
import { generateQuestion, sampleChunks } from './generate-questions.ts';
import { describeReference, judgeAnswer } from './judge-answer.ts';
import { averageMeasures, measureJudgement, percentile } from './measures.ts';
import { type EvaluatedBase, runQuestion } from './run-question.ts';
import type { EvaluationSummary, Judgement } from './schema.ts';
import {
  clearUnrecorded,
  type EvaluationResultRow,
  type EvaluationRow,
  saveStep,
  selectEvaluationOfJob,
  selectMeasures,
  selectPending,
  selectUnrecordedSteps,
  updateEvaluation,
} from './store.ts';
import type { QuestionOutcome } from './tables.ts';

/** Dependencies of evaluations that run. */
export type EvaluationWorkerDeps = ChatDeps & Pick<Deps, 'jobs' | 'chargeTokens'>;

/** Questions of one evaluation that run concurrently. */
const CONCURRENT_QUESTIONS = 4;
/** Interval of the check for a cancellation or deletion, which any process may have received. */
const WATCH_MS = 500;
/** Errors of every question: the evaluation ends with them. Other errors are the result of one question. */
const FATAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404]);
const ENDPOINT = '/v1/knowledge-bases/:kb_id/evaluations';

/** What the questions of a running evaluation share. */
interface Run {
  deps: EvaluationWorkerDeps;
  evaluation: EvaluationRow;
  context: EvaluatedBase;
  /** Aborts running questions: the process stops. */
  signal: AbortSignal;
  /** Starts no further step: the evaluation was cancelled or deleted, or the process stops. */
  stop: AbortSignal;
}

/**
 * Runs an evaluation to its end. Each question is stored with its usage, so a run after a crash repeats no billed call.
 * Throws the reason of `signal` when the process stops; the job is then run again.
 */
export async function runEvaluation(
  deps: EvaluationWorkerDeps,
  evaluationId: string,
  signal: AbortSignal,
): Promise<void> {
  const { db, now } = deps;
  await recordLeftUsage(deps, evaluationId);
  const evaluation = await selectEvaluationOfJob(db.sql, evaluationId);
  if (evaluation === null || (evaluation.status !== 'queued' && evaluation.status !== 'running')) return;
  const stopping = new AbortController();
  const watch = runPeriodically(
    WATCH_MS,
    'watch evaluation',
    () => watchEvaluation(deps, evaluationId, stopping),
    deps.logger,
  );
  try {
    await startEvaluation(deps, evaluation);
    const base = await findKnowledgeBase(deps, evaluation.organizationId, evaluation.knowledgeBaseId);
    const context = { base, configuration: evaluation.configuration, seed: evaluation.seed };
    await runPending({ deps, evaluation, context, signal, stop: AbortSignal.any([signal, stopping.signal]) });
    signal.throwIfAborted();
    if (!stopping.signal.aborted) await endEvaluation(deps, evaluation);
  } catch (thrown) {
    signal.throwIfAborted();
    const error = knownError(thrown);
    if (!FATAL_STATUSES.has(error.status)) throw thrown;
    const { code, message } = error;
    const failure = { status: 'failed', error: { code, message }, endedAt: new Date(now()) } as const;
    await updateEvaluation(db.sql, { id: evaluationId, from: ['queued', 'running'] }, failure);
  } finally {
    await watch.stop();
  }
}

async function watchEvaluation({ db }: EvaluationWorkerDeps, id: string, stopping: AbortController): Promise<void> {
  const status = (await selectEvaluationOfJob(db.sql, id))?.status;
  if (status !== 'queued' && status !== 'running') stopping.abort(new Error('the evaluation has stopped'));
}

/** Samples the chunks of a generated evaluation, once. */
async function startEvaluation(deps: EvaluationWorkerDeps, evaluation: EvaluationRow): Promise<void> {
  const { db, now } = deps;
  await db.sql.transaction(async (sql) => {
    const changes = { status: 'running', startedAt: new Date(now()) } as const;
    const started = await updateEvaluation(sql, { id: evaluation.id, from: ['queued'] }, changes);
    if (started !== null && evaluation.generate !== null) await sampleChunks(sql, started, evaluation.generate.count);
  });
}

async function runPending(run: Run): Promise<void> {
  const pending = await selectPending(run.deps.db.sql, run.evaluation.id);
  const runRow = async (row: EvaluationResultRow) => {
    let step: EvaluationResultRow | null = row;
    // To generate a question, to answer it, and to judge the answer are steps, each stored with its usage.
    while (step !== null && !run.stop.aborted) step = await runStep(run, step);
  };
  await forEachConcurrent(pending, CONCURRENT_QUESTIONS, runRow, run.stop);
}

type StepInput = Pick<Run, 'context' | 'evaluation'> & { row: EvaluationResultRow };
type StepChanges = Partial<Pick<EvaluationResultRow, 'status' | 'question' | 'result' | 'error'>>;

/** Runs and stores one step of a question, with retries. Returns the row of its next step; null after the last one. */
async function runStep(run: Run, row: EvaluationResultRow): Promise<EvaluationResultRow | null> {
  const { deps } = run;
  const usage: ReservedUsage[] = [];
  const recordUsage: Deps['recordUsage'] = async (record, reservation) => void usage.push({ record, reservation });
  const step = row.question === null ? generateQuestion : row.result === null ? answerQuestion : judgeStep;
  const attempt = async (): Promise<StepChanges> => {
    releaseCredits(usage.splice(0));
    try {
      return await step({ ...deps, recordUsage }, toCall(run), { ...run, row }, run.signal);
    } catch (error) {
      throw knownError(error);
    }
  };
  const failed = (thrown: unknown): StepChanges | null => {
    if (run.stop.aborted) releaseCredits(usage);
    run.signal.throwIfAborted();
    // A question that waits for a retry when the evaluation is cancelled stays without a result.
    if (run.stop.aborted) return null;
    const { status, code, message } = knownError(thrown);
    if (FATAL_STATUSES.has(status)) throw thrown;
    const fields = { evaluationId: run.evaluation.id, code, cause: describeError(thrown) };
    if (row.result !== null) {
      deps.logger.warn(fields, 'answer not judged');
      return toJudgedChanges(row.result, { verdict: null, reason: null, error: { code, message } });
    }
    deps.logger.warn(fields, 'question failed');
    return { status: 'failed', error: { code, message } };
  };
  const changes = await retry(attempt, { ...LINE_RETRY, signal: run.stop }).catch(failed);
  if (changes === null) return null;
  const saved = await saveChanges(deps, row, changes, usage);
  return saved !== null && changes.status === undefined ? { ...row, ...saved } : null;
}

async function answerQuestion(
  deps: EvaluationWorkerDeps,
  call: Call,
  { row, context, evaluation }: StepInput,
  signal: AbortSignal,
): Promise<StepChanges> {
  const question = row.question ?? { question: '' };
  const result = await runQuestion(deps, call, { question, context }, signal);
  const isJudged = evaluation.judgeModel !== null && describeReference(question) !== null;
  return { ...(!isJudged && { status: 'completed' }), result };
}

async function judgeStep(
  deps: EvaluationWorkerDeps,
  call: Call,
  { row: { question, result }, evaluation: { judgeModel: model, seed } }: StepInput,
  signal: AbortSignal,
): Promise<StepChanges> {
  if (question === null || result === null || model === null) throw new Error('the answer has no judge model');
  const judgement = await judgeAnswer(deps, call, { question, answer: result.answer ?? '', model, seed }, signal);
  return toJudgedChanges(result, judgement);
}

function toJudgedChanges(result: QuestionOutcome, judgement: Judgement): StepChanges {
  const measures = { ...result.measures, ...measureJudgement(judgement) };
  return { status: 'completed', result: { ...result, judgement, measures } };
}

/** Stores the changes of a step with its usage. Returns what was stored; null when the row has ended otherwise. */
async function saveChanges(
  { db, recordUsage }: EvaluationWorkerDeps,
  row: EvaluationResultRow,
  { result, ...changes }: StepChanges,
  usage: readonly ReservedUsage[],
): Promise<StepChanges | null> {
  const records = usage.map(({ record }) => record);
  // The cost that is compared is that of the answer, without those of its question and its judgement.
  const cost_micros = records.reduce((sum, { costMicros }) => sum + costMicros, 0);
  const measured = result && { result: { ...result, measures: { cost_micros, ...result.measures } } };
  const saved = { ...changes, ...measured };
  const isSaved = await saveStep(db.sql, row.id, { ...saved, usage: records }).catch((error: unknown) => {
    releaseCredits(usage);
    throw error;
  });
  if (!isSaved) {
    releaseCredits(usage);
    return null;
  }
  if (usage.length > 0) {
    await settleAll(usage.map(({ record, reservation }) => recordUsage(record, reservation)));
    await clearUnrecorded(db.sql, [row.id]);
  }
  return saved;
}

/** Records usage that an ended process left in the outbox, unless the ledger has it. */
async function recordLeftUsage({ db, recordUsage }: EvaluationWorkerDeps, evaluationId: string): Promise<void> {
  for (;;) {
    const { ids, records } = await selectUnrecordedSteps(db.sql, evaluationId);
    if (ids.length === 0) return;
    await settleAll(records.map((record) => recordUsage(record, null)));
    await clearUnrecorded(db.sql, ids);
  }
}

/** Calls wait while interactive calls are queued, and count against the token limits of the key. */
function toCall({ deps, evaluation }: Run): Call {
  const caller = restoreCaller(evaluation.caller);
  const countTokens = (tokens: number) => deps.chargeTokens(caller, tokens);
  return { caller, requestId: newId('request'), endpoint: ENDPOINT, priority: 'batch', countTokens };
}

async function endEvaluation(deps: EvaluationWorkerDeps, evaluation: EvaluationRow): Promise<void> {
  const { db, logger, now } = deps;
  const results = await selectMeasures(db.sql, evaluation.id);
  if (evaluation.generate !== null && results.length === 0) {
    const error = { code: 'no_questions', message: 'The model wrote no question that its passage answers.' };
    const failure = { status: 'failed', error, endedAt: new Date(now()) } as const;
    return void (await updateEvaluation(db.sql, { id: evaluation.id, from: ['running'] }, failure));
  }
  const latency = (name: string) => {
    const values = results.flatMap(({ measures }) => measures[name] ?? []);
    return { p50: percentile(values, 0.5), p95: percentile(values, 0.95) };
  };
  const summary: EvaluationSummary = {
    measures: averageMeasures(results.map(({ measures }) => measures)),
    latency_ms: { retrieval: latency('retrieval_ms'), answer: latency('answer_ms') },
  };
  const comparison = await compareWithBaseline(deps, evaluation, results);
  const changes = { status: 'completed', summary, comparison, endedAt: new Date(now()) } as const;
  const ended = await updateEvaluation(db.sql, { id: evaluation.id, from: ['running'] }, changes);
  if (ended === null || comparison?.verdict !== 'worse') return;
  const worse = comparison.measures.flatMap(({ name, verdict }) => (verdict === 'worse' ? [name] : []));
  const fields = { evaluationId: ended.id, knowledgeBase: ended.knowledgeBaseId, baselineId: ended.baselineId, worse };
  logger.warn(fields, 'knowledge base answers worse than in the baseline');
}
