/** Largest share of a word's characters that may differ. */
const MAX_DIFFERENCE = 0.5;

/** Returns the candidate most similar to a misspelled word, ignoring case, by prefix or fewest edits; else null. */
export function suggestSimilar(word: string, candidates: readonly string[]): string | null {
  const target = word.toLowerCase();
  let best: { candidate: string; edits: number } | null = null;
  for (const candidate of candidates) {
    const name = candidate.toLowerCase();
    const isPart = target.length >= 3 && (name.startsWith(target) || target.startsWith(name));
    const edits = isPart ? 0.5 : editDistance(target, name);
    if (edits > Math.max(target.length, name.length) * MAX_DIFFERENCE) continue;
    if (best === null || edits < best.edits) best = { candidate, edits };
  }
  return best?.candidate ?? null;
}

/** Levenshtein distance: insertions, deletions and replacements between two words. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
