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
): Promise<Omit<EvaluationComparison, 'baseline_id'>> {
  const before = new Map(baseline.map((one) => [questionKey(one.question), one.measures]));
  const pairs = current.flatMap(({ question, measures }) => {
    const other = before.get(questionKey(question));
    return other === undefined ? [] : [{ before: other, after: measures }];
  });
  const measures: EvaluationComparison['measures'] = [];
  const samples = [...Object.keys(MEASURES), ...COSTS].flatMap((name) => {
    const values = pairs.flatMap(({ before, after }) => {
      const [from, to] = [before[name], after[name]];
      return from === undefined || to === undefined ? [] : [{ from, to }];
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
  return { questions: pairs.length, verdict, measures };
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
  const { baselineId, organizationId, seed } = evaluation;
  const baseline = baselineId === null ? null : await selectEvaluation(db.sql, organizationId, { id: baselineId });
  if (baseline?.status !== 'completed') return null;
  return {
    baseline_id: baseline.id,
    ...(await compareMeasures(await selectMeasures(db.sql, baseline.id), results, seed)),
  };
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
  return { baseline_id: baseline.id, ...(await compareMeasures(before, after, evaluation.seed)) };
}
