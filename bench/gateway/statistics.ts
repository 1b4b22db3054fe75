/** A figure over the rounds of a benchmark. */
export interface Summary {
  median: number;
  min: number;
  max: number;
}

/** The `q`-quantile (0..1) of ascending numbers by nearest rank; NaN of none. */
export function quantile(ascending: number[], q: number): number {
  const rank = Math.max(1, Math.ceil(q * ascending.length));
  return ascending[rank - 1] ?? Number.NaN;
}

/** Median, smallest and largest; entries that are not numbers are left out. */
export function summarize(values: number[]): Summary {
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
