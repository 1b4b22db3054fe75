/** Resamples of an interval. The tails of a simultaneous interval over twelve measures hold about ten of them. */
const RESAMPLES = 5_000;

/** A confidence interval of a mean difference. */
export interface Interval {
  low: number;
  high: number;
}

/** Returns a generator of numbers in [0, 1) that depends on the seed only (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Percentile interval of the mean of paired differences (Efron and Tibshirani, An Introduction to the Bootstrap,
 * chapter 13). `level`: 0.95 leaves 2.5 % on each side. Deterministic for a seed. `differences` must not be empty.
 */
export function bootstrapInterval(differences: readonly number[], level: number, seed: number): Interval {
  const random = seededRandom(seed);
  const count = differences.length;
  const means = new Float64Array(RESAMPLES);
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += differences[Math.floor(random() * count)] ?? 0;
    means[resample] = sum / count;
  }
  means.sort();
  const tail = Math.floor(((1 - level) / 2) * RESAMPLES);
  return { low: means[tail] ?? 0, high: means[RESAMPLES - 1 - tail] ?? 0 };
}
