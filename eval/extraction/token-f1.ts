/** Splits a text into lower-case words: runs of letters and digits. */
export function splitWords(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** F1 of word multisets: 1 when both are equal. */
export function tokenF1(expected: readonly string[], found: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of expected) left.set(word, (left.get(word) ?? 0) + 1);
  let both = 0;
  for (const word of found) {
    const count = left.get(word) ?? 0;
    if (count > 0) both += 1;
    left.set(word, count - 1);
  }
  return both === 0 ? 0 : (2 * both) / (expected.length + found.length);
}
