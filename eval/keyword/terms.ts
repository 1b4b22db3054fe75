import { stem } from './stemmer.ts';

const STOP_WORDS: ReadonlySet<string> = new Set(
  `a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
  will with`.split(/\s+/),
);
const LONGEST_CHARS = 40;
const IOTA = '\u0345';

const stems = new Map<string, string>();
const isCombining = new Map<string, boolean>();

/**
 * Tokenizes a text as LanceDB's English index does: stemmed lower-case runs of letters and digits without accents,
 * without 33 stop words and runs above 40 characters.
 */
export function terms(text: string): string[] {
  const folded = text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, fold);
  const found: string[] = [];
  for (const [word] of folded.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (STOP_WORDS.has(word) || word.length > LONGEST_CHARS) continue;
    let known = stems.get(word);
    if (known === undefined) {
      known = stem(word);
      stems.set(word, known);
    }
    found.push(known);
  }
  return found;
}

/** Removes combining marks; keeps others, such as the vowel signs of Hindi, which separate words. */
function fold(mark: string): string {
  let combines = isCombining.get(mark);
  if (combines === undefined) {
    // Normalization sorts marks by combining class, of which iota has the highest.
    combines = mark === IOTA || `${IOTA}${mark}`.normalize('NFD').endsWith(IOTA);
    isCombining.set(mark, combines);
  }
  return combines ? '' : mark;
}
