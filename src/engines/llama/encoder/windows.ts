/** Fraction of a window that overlaps the next one, so that text at a boundary is whole in one of them. */
const OVERLAP = 0.25;

/** Maximum windows per document: minutes of computation for a large model. */
const MAX_WINDOWS = 64;

/** Start and end of a window in tokens. */
export interface Span {
  from: number;
  to: number;
}

/**
 * Splits `length` tokens into as few windows as possible, of nearly equal size, without overlap. Returns one empty
 * window for no tokens.
 */
export function evenWindows(length: number, maxTokens: number): Span[] {
  const count = Math.max(1, Math.ceil(length / maxTokens));
  return Array.from({ length: count }, (_, window) => ({
    from: Math.floor((window * length) / count),
    to: Math.floor(((window + 1) * length) / count),
  }));
}

/**
 * Splits `length` tokens into as few windows as possible, each overlapping the next by at least a quarter of
 * `maxTokens`. Above 64 windows, 64 are spread evenly and text between them is skipped.
 */
export function overlappingWindows(length: number, maxTokens: number): Span[] {
  if (length <= maxTokens) return [{ from: 0, to: length }];
  const step = Math.max(1, Math.floor(maxTokens * (1 - OVERLAP)));
  const count = Math.min(MAX_WINDOWS, Math.ceil((length - maxTokens) / step) + 1);
  return Array.from({ length: count }, (_, window) => {
    const from = Math.floor((window * (length - maxTokens)) / (count - 1));
    return { from, to: from + maxTokens };
  });
}
