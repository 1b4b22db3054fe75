import { setImmediate } from 'node:timers/promises';
import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { bootstrapInterval } from './bootstrap.ts';
import { COSTS, MEASURES } from './measures.ts';
import type { EvaluationComparison, Question } from './schema.ts';
import { type EvaluationRow, selectEvaluation, selectMeasures } from './store.ts';

/** Confidence that all intervals of a comparison hold together. */
const CONFIDENCE = 0.95;
/** Questions below which nothing is said: the interval of a handful of differences is too short. */
const MIN_QUESTIONS = 8;

/** Measures of the judge model. A question without a verdict in one evaluation is not compared by them. */
const JUDGE_MEASURES: readonly string[] = ['judge_right', 'judge_wrong', 'judge_declined'];

/** A question with its measures. */
export interface MeasuredQuestion {
  question: Question;
  measures: Readonly<Record<string, number>>;
}

/**
 * Compares the measures of the questions that two evaluations have in common. The intervals of the paired differences
 * hold together with 95 % (Bonferroni), so one verdict over all measures is a false alarm in at most one of twenty
 * comparisons. Cost and durations are compared, but decide no verdict of the whole.
 */
export async function compareMeasures(
  baseline: readonly MeasuredQuestion[],
  current: readonly MeasuredQuestion[],
  seed: number,
  judged: EvaluationComparison['judged'] = 'neither',
): Promise<Omit<EvaluationComparison, 'baseline_id' | 'baseline_knowledge_base_id'>> {
  const before = new Map(baseline.map((one) => [questionKey(one.question), one.measures]));
  const pairs = current.flatMap(({ question, measures }) => {
    const other = before.get(questionKey(question));
    return other === undefined ? [] : [{ before: other, after: measures }];
  });
  const measures: EvaluationComparison['measures'] = [];
  const names = [...Object.keys(MEASURES), ...COSTS].filter((name) => name !== 'judge_failed');
  const samples = names.flatMap((name) => {
    const isOfJudge = JUDGE_MEASURES.includes(name);
    if (isOfJudge && judged !== 'both') return [];
    const values = pairs.flatMap(({ before, after }) => {
      const [from, to] = [before[name], after[name]];
      if (from === undefined || to === undefined) return [];
      return isOfJudge && (before['judge_failed'] || after['judge_failed']) ? [] : [{ from, to }];
    });
    return values.length === 0 ? [] : [{ name, values }];
  });
  const quality = Math.max(1, samples.filter(({ name }) => name in MEASURES).length);
  for (const { name, values } of samples) {
    // Each interval takes milliseconds of the event loop.
    await setImmediate();
    const differences = values.map(({ from, to }) => to - from);
    const { low, high } = bootstrapInterval(differences, 1 - (1 - CONFIDENCE) / quality, seed);
    const isHigherBetter = MEASURES[name as keyof typeof MEASURES] === 'higher';
    const isKnown = values.length >= MIN_QUESTIONS && (low > 0 || high < 0);
    measures.push({
      name,
      baseline: mean(values.map(({ from }) => from)),
      value: mean(values.map(({ to }) => to)),
      difference: mean(differences),
      low,
      high,
      verdict: isKnown ? (low > 0 === isHigherBetter ? 'better' : 'worse') : 'unclear',
    });
  }
  const verdicts = new Set(measures.flatMap(({ name, verdict }) => (name in MEASURES ? [verdict] : [])));
  const isBoth = verdicts.has('better') && verdicts.has('worse');
  const verdict = isBoth ? 'mixed' : verdicts.has('better') ? 'better' : verdicts.has('worse') ? 'worse' : 'unclear';
  return { questions: pairs.length, verdict, judged, measures };
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Questions are equal if their text and their expected results are equal; PostgreSQL stores keys in one order. */
const questionKey = (question: Question): string => JSON.stringify(Object.entries(question).toSorted());

/** Compares an evaluation that ends with its baseline; null without a baseline that has completed. */
export async function compareWithBaseline(
  { db }: Pick<Deps, 'db'>,
  evaluation: EvaluationRow,
  results: readonly MeasuredQuestion[],
): Promise<EvaluationComparison | null> {
  const { baselineId, organizationId } = evaluation;
  const baseline = baselineId === null ? null : await selectEvaluation(db.sql, organizationId, { id: baselineId });
  if (baseline?.status !== 'completed') return null;
  return compareResults(evaluation, baseline, { before: await selectMeasures(db.sql, baseline.id), after: results });
}

/** Compares two evaluations. Throws 400 unless both have completed. */
export async function compareEvaluations(
  { db }: Pick<Deps, 'db'>,
  evaluation: EvaluationRow,
  baseline: EvaluationRow,
): Promise<EvaluationComparison> {
  for (const [param, { status }] of [
    ['evaluation_id', evaluation],
    ['baseline', baseline],
  ] as const) {
    if (status !== 'completed') throw invalidValue(param, `must be a completed evaluation; this one is ${status}`);
  }
  const [before, after] = [await selectMeasures(db.sql, baseline.id), await selectMeasures(db.sql, evaluation.id)];
  return compareResults(evaluation, baseline, { before, after });
}

async function compareResults(
  evaluation: EvaluationRow,
  baseline: EvaluationRow,
  { before, after }: Record<'before' | 'after', readonly MeasuredQuestion[]>,
): Promise<EvaluationComparison> {
  const judged = compareJudges(baseline.judgeModel, evaluation.judgeModel);
  const ids = { baseline_id: baseline.id, baseline_knowledge_base_id: baseline.knowledgeBaseId };
  return { ...ids, ...(await compareMeasures(before, after, evaluation.seed, judged)) };
}

/** Verdicts of two judge models differ in the judges, so they are not compared. */
function compareJudges(before: string | null, after: string | null): EvaluationComparison['judged'] {
  if (before === null || after === null) {
    if (before === after) return 'neither';
    return before === null ? 'evaluation_only' : 'baseline_only';
  }
  return before === after ? 'both' : 'different_models';
}
