import { truncateGraphemes } from '../lib/truncate.ts';

/** Words of a query that are compared; shorter ones are in every text. */
const WORD = /[\p{L}\p{N}]{3,}/gu;

/**
 * Returns at most `maxCharacters` of a text, in one line: around the densest cluster of words of the query, or from the
 * beginning when the text has none of them. An ellipsis marks what is left out.
 */
export function excerptAround(text: string, query: string, maxCharacters: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= maxCharacters) return line;
  const start = densestStart(line, query, maxCharacters);
  if (start === 0) return truncateGraphemes(line, maxCharacters);
  return truncateGraphemes(`… ${line.slice(start)}`, maxCharacters);
}

/** Start of the window with the most different words of the query; a word boundary. */
function densestStart(line: string, query: string, maxCharacters: number): number {
  const queryWords = new Set(query.toLowerCase().match(WORD) ?? []);
  const matches = [...line.toLowerCase().matchAll(WORD)].filter(([word]) => queryWords.has(word));
  let best = { start: 0, words: 0 };
  for (const first of matches) {
    const end = first.index + maxCharacters / 2;
    const words = new Set(matches.filter(({ index }) => index >= first.index && index < end).map(([word]) => word))
      .size;
    if (words > best.words) best = { start: first.index, words };
  }
  // A quarter of the window shows what precedes the first match.
  const from = Math.min(best.start - maxCharacters / 4, line.length - maxCharacters + 2);
  return from <= 0 ? 0 : line.indexOf(' ', from) + 1;
}
