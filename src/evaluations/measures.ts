import { declines } from '../knowledge-bases/grounding/attribution.ts';
import { containsFact, type EvidenceSource, listEvidence, listFacts, normalizeTokens } from './evidence.ts';
import type { Judgement, Question } from './schema.ts';

/** Measures of a question, 0 to 1 each, and whether a higher value is better. Measures of `COSTS` are no quality. */
export const MEASURES = {
  'recall@1': 'higher',
  'recall@5': 'higher',
  'recall@20': 'higher',
  'ndcg@10': 'higher',
  mrr: 'higher',
  answers_correct: 'higher',
  answers_wrong: 'lower',
  answers_declined: 'lower',
  citations_correct: 'higher',
  refusals_correct: 'higher',
  judge_right: 'higher',
  judge_wrong: 'lower',
  judge_declined: 'lower',
  judge_failed: 'lower',
} as const;

/** Cost in micros and durations of a question. */
export const COSTS = ['cost_micros', 'retrieval_ms', 'answer_ms'] as const;

/** Name of a measure of quality. */
export type MeasureName = keyof typeof MEASURES;
/** Values of one question. A measure that does not apply to the question is absent. */
export type QuestionMeasures = Partial<Record<MeasureName | (typeof COSTS)[number], number>>;

/** Hits of the search that are measured. */
export const MEASURED_HITS = 20;
/** Hits of nDCG. */
const NDCG_HITS = 10;

/** An answer with the chunks that it cites. */
export interface MeasuredAnswer {
  text: string;
  cited: readonly EvidenceSource[];
}

/** Ranks from 1 at which each part of the evidence is first found; null for a part that no hit holds. */
export function rankEvidence(question: Question, hits: readonly EvidenceSource[]): (number | null)[] {
  const sources = hits.map((hit) => ({ ...hit, normalized: normalizeTokens(hit.text) }));
  return listEvidence(question).map((isHeld) => sources.findIndex(isHeld) + 1 || null);
}

/** Recall, nDCG and MRR of a search, from `rankEvidence`. Empty for a question without evidence. */
export function measureRetrieval(ranks: readonly (number | null)[]): QuestionMeasures {
  if (ranks.length === 0) return {};
  const isWithin = (k: number) => ranks.filter((rank) => rank !== null && rank <= k);
  const recall = (k: number) => isWithin(k).length / ranks.length;
  const discount = (rank: number | null) => 1 / Math.log2((rank ?? Number.POSITIVE_INFINITY) + 1);
  const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, rank) => total + discount(rank), 0);
  // Several parts may be in one hit, which is then better than the ideal of one part per hit.
  const ideal = sum(Array.from({ length: Math.min(ranks.length, NDCG_HITS) }, (_, i) => i + 1));
  const first = Math.min(...ranks.map((rank) => rank ?? Number.POSITIVE_INFINITY));
  return {
    'recall@1': recall(1),
    'recall@5': recall(5),
    'recall@20': recall(MEASURED_HITS),
    'ndcg@10': Math.min(1, sum(isWithin(NDCG_HITS)) / ideal),
    mrr: 1 / first,
  };
}

/**
 * Measures an answer. `answers_*` need facts; of correct, wrong and declined, one is 1. An answer that declines is not
 * correct, whatever passage it shows. Citations are measured unless the answer declines: the share of the evidence that
 * a cited chunk holds.
 */
export function measureAnswer(question: Question, { text, cited }: MeasuredAnswer): QuestionMeasures {
  const declined = isDeclined(text);
  if (question.unanswerable) return { refusals_correct: Number(declined) };
  const evidence = listEvidence(question);
  const citations = rankEvidence(question, cited).filter((rank) => rank !== null).length / evidence.length;
  const facts = listFacts(question);
  const normalized = normalizeTokens(text);
  const correct = !declined && facts.every((fact) => containsFact(normalized, fact));
  return {
    ...(facts.length > 0 && {
      answers_correct: Number(correct),
      answers_wrong: Number(!correct && !declined),
      answers_declined: Number(declined),
    }),
    ...(!declined && { citations_correct: citations }),
  };
}

/** Measures of a judgement: one of the four is 1. A judgement without a verdict is not right. */
export function measureJudgement({ verdict }: Judgement): QuestionMeasures {
  return {
    judge_right: Number(verdict === 'right'),
    judge_wrong: Number(verdict === 'wrong'),
    judge_declined: Number(verdict === 'declined'),
    judge_failed: Number(verdict === null),
  };
}

/** German answers that decline; `declines` knows the English ones. */
const DECLINES_IN_GERMAN = /^[^.]*\b(?:nicht|keine)\b[^.]*\b(?:finden|gefunden|enthalten|erwähnt)\b/i;

/** Whether an answer says that the documents do not hold the answer. An empty answer does, too. */
export function isDeclined(answer: string): boolean {
  return answer.trim() === '' || declines(answer) || DECLINES_IN_GERMAN.test(answer);
}

/** A measure over all questions to which it applies. */
export interface MeasureMean {
  name: MeasureName;
  value: number;
  questions: number;
}

/** Means of the measures of quality, in the order of `MEASURES`. */
export function averageMeasures(results: readonly QuestionMeasures[]): MeasureMean[] {
  return (Object.keys(MEASURES) as MeasureName[]).flatMap((name) => {
    const values = results.flatMap((measures) => measures[name] ?? []);
    if (values.length === 0) return [];
    return [{ name, value: values.reduce((a, b) => a + b, 0) / values.length, questions: values.length }];
  });
}

/** The value below which a share of the values lies (nearest rank); null without values. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}
