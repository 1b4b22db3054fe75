import { seededUniform } from './random-numbers.ts';

const BOOTSTRAP_ROUNDS = 10_000;
const BOOTSTRAP_SEED = 1;

/** A figure over the rounds of a benchmark: median with the range as its noise. */
export interface Summary {
  median: number;
  min: number;
  max: number;
}

/** Median, minimum and maximum. Values that are not finite are ignored. */
export function summarize(values: readonly number[]): Summary {
  const ascending = values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = ascending.length / 2;
  const lower = ascending[Math.ceil(middle) - 1] ?? Number.NaN;
  const upper = ascending[Math.floor(middle)] ?? Number.NaN;
  return {
    median: (lower + upper) / 2,
    min: ascending[0] ?? Number.NaN,
    max: ascending.at(-1) ?? Number.NaN,
  };
}

/** The `q`-quantile (0 to 1) by nearest rank, of values in any order; NaN of no values. */
export function quantile(values: ArrayLike<number>, q: number): number {
  const ascending = Float64Array.from(values).sort();
  const rank = Math.max(1, Math.ceil(q * ascending.length));
  return ascending[rank - 1] ?? Number.NaN;
}

/** Arithmetic mean; NaN of no values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Two-sided p-value of the paired bootstrap for the difference of two means, with one value per query in both lists.
 * Deterministic: the resampling is seeded.
 */
export function pairedBootstrap(ours: readonly number[], theirs: readonly number[]): number {
  const differences = Float64Array.from(ours, (value, query) => value - (theirs[query] ?? Number.NaN));
  const uniform = seededUniform(BOOTSTRAP_SEED);
  let notAbove = 0;
  let notBelow = 0;
  for (let round = 0; round < BOOTSTRAP_ROUNDS; round++) {
    let sum = 0;
    for (let i = 0; i < differences.length; i++) sum += differences[Math.floor(uniform() * differences.length)] ?? 0;
    if (sum <= 0) notAbove += 1;
    if (sum >= 0) notBelow += 1;
  }
  return Math.min(1, (2 * Math.min(notAbove, notBelow)) / BOOTSTRAP_ROUNDS);
}

/** Ranks from 1, lowest value first. Equal values share the mean of their ranks. */
export function ranks(values: readonly number[]): number[] {
  const order = values.map((_, index) => index).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const ranking = new Array<number>(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && values[order[to] ?? 0] === values[order[from] ?? 0]) to += 1;
    for (const index of order.slice(from, to)) ranking[index] = (from + 1 + to) / 2;
    from = to;
  }
  return ranking;
}

/** Spearman's rank correlation, -1 to 1: Pearson's correlation of the ranks. */
export function spearman(a: readonly number[], b: readonly number[]): number {
  const x = ranks(a);
  const y = ranks(b);
  const middle = (a.length + 1) / 2;
  const product = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, index) => sum + (value - middle) * ((right[index] ?? middle) - middle), 0);
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}
