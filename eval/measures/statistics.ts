import { uniformNumbers } from '../../bench/engine/random-numbers.ts';

const BOOTSTRAP_ROUNDS = 10_000;
const SEED = 1;

/** The mean; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Two-sided p of the paired bootstrap: how surely the mean of `ours` differs from that of `theirs`, one value a query in
 * both. The same p for the same values: the drawing is seeded.
 */
export function pairedBootstrap(ours: readonly number[], theirs: readonly number[]): number {
  const differences = Float64Array.from(ours, (value, query) => value - (theirs[query] ?? Number.NaN));
  const uniform = uniformNumbers(SEED);
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

/** Ranks from 1, the lowest value first; equal values share the mean of their ranks. */
export function ranks(values: readonly number[]): number[] {
  const order = values.map((_, at) => at).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const found = new Array<number>(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && values[order[to] ?? 0] === values[order[from] ?? 0]) to += 1;
    for (const at of order.slice(from, to)) found[at] = (from + 1 + to) / 2;
    from = to;
  }
  return found;
}

/** Spearman's rank correlation, -1..1: Pearson's of the ranks, equal values sharing theirs. */
export function spearman(a: readonly number[], b: readonly number[]): number {
  const x = ranks(a);
  const y = ranks(b);
  const middle = (a.length + 1) / 2;
  const product = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, at) => sum + (value - middle) * ((right[at] ?? middle) - middle), 0);
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}
