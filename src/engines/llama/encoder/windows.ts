/** Part of a window that the next one begins with, so that what stands at an end of one stands within another. */
const OVERLAP = 0.25;

/** Windows that a document is judged by at most: minutes of work for a large model, and more text than a chapter. */
const MAX_WINDOWS = 64;

/** Where each window begins and ends within tokens. */
export interface Span {
  from: number;
  to: number;
}

/** As few windows as hold `length` tokens, all about as long, side by side. One, of nothing, for no tokens. */
export function evenWindows(length: number, maxTokens: number): Span[] {
  const count = Math.max(1, Math.ceil(length / maxTokens));
  return Array.from({ length: count }, (_, window) => ({
    from: Math.floor((window * length) / count),
    to: Math.floor(((window + 1) * length) / count),
  }));
}

/**
 * As few windows as hold `length` tokens where each shares a quarter of `most` with the next at least. Where that would be
 * more than 64, they are 64 that are spread over the whole: what is between them is left out.
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
