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
 * The terms of a text in order, as LanceDB's English index makes them: runs of letters and digits, lower case, accents
 * folded, 33 stop words and what is longer than 40 characters left out, stemmed.
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

/** Marks that combine vanish; the others, such as the vowel signs of Hindi, stay and part words. */
function fold(mark: string): string {
  let combines = isCombining.get(mark);
  if (combines === undefined) {
    // Normalisation puts marks in the order of their combining class, of which iota's is the highest.
    combines = mark === IOTA || `${IOTA}${mark}`.normalize('NFD').endsWith(IOTA);
    isCombining.set(mark, combines);
  }
  return combines ? '' : mark;
}
