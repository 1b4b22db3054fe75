import { ranks } from '../../bench/harness/statistics.ts';

/** A text's score and its label. */
export interface ScoredText {
  score: number;
  isPositive: boolean;
}

/** Precision, recall and false-positive rate at a threshold; NaN when the denominator is 0. */
export interface AtThreshold {
  /** Share of positives among texts at or above the threshold. */
  precision: number;
  /** Share of the positives at or above the threshold. */
  recall: number;
  /** False-positive rate: share of the negatives at or above the threshold. */
  falseAlarms: number;
}

/**
 * Area under the precision-recall curve as average precision: the sum of precision times the gain of recall over the
 * thresholds; equal scores are one threshold. 0 to 1; a random classifier gets the share of positives.
 */
export function areaUnderPrecisionRecall(scoredTexts: readonly ScoredText[]): number {
  const descending = [...scoredTexts].sort((a, b) => b.score - a.score);
  const positives = descending.filter(({ isPositive }) => isPositive).length;
  let area = 0;
  let found = 0;
  for (let from = 0; from < descending.length; ) {
    let to = from;
    let gained = 0;
    while (to < descending.length && descending[to]?.score === descending[from]?.score) {
      if (descending[to]?.isPositive) gained += 1;
      to += 1;
    }
    found += gained;
    area += (found / to) * (gained / positives);
    from = to;
  }
  return area;
}

/** Area under the ROC curve: how often a positive scores above another text, equal scores counting half. 0..1. */
export function areaUnderRoc(scoredTexts: readonly ScoredText[]): number {
  const places = ranks(scoredTexts.map(({ score }) => score));
  const positives = scoredTexts.filter(({ isPositive }) => isPositive).length;
  const sum = scoredTexts.reduce((total, { isPositive }, at) => total + (isPositive ? (places[at] ?? 0) : 0), 0);
  return (sum - (positives * (positives + 1)) / 2) / (positives * (scoredTexts.length - positives));
}

/** Computes the rates at a threshold. */
export function atThreshold(scoredTexts: readonly ScoredText[], threshold: number): AtThreshold {
  const flagged = scoredTexts.filter(({ score }) => score >= threshold);
  const positives = scoredTexts.filter(({ isPositive }) => isPositive).length;
  const right = flagged.filter(({ isPositive }) => isPositive).length;
  return {
    precision: right / flagged.length,
    recall: right / positives,
    falseAlarms: (flagged.length - right) / (scoredTexts.length - positives),
  };
}
