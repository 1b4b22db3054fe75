/** Endings in the order in which they are tried, with what takes their place; a stem keeps three letters at least. */
const ENDINGS: readonly (readonly [ending: string, instead: string])[] = [
  ['izations', 'iz'],
  ['ization', 'iz'],
  ['ational', 'at'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'iv'],
  ['ations', 'at'],
  ['ation', 'at'],
  ['ators', 'at'],
  ['ator', 'at'],
  ['uctions', 'uc'],
  ['uction', 'uc'],
  ['ments', ''],
  ['ment', ''],
  ['ities', ''],
  ['ingly', ''],
  ['ness', ''],
  ['ions', ''],
  ['ings', ''],
  ['edly', ''],
  ['ies', 'i'],
  ['ied', 'i'],
  ['ity', ''],
  ['ion', ''],
  ['ing', ''],
  ['ers', ''],
  ['est', ''],
  ['ly', ''],
  ['ed', ''],
  ['er', ''],
  ['es', ''],
  ['s', ''],
];
const LEAST_STEM = 3;
const ENGLISH = /^[a-z]+$/;
const VOWEL = /[aeiouy]/;
/** Endings of words that only look like a plural. */
const NO_PLURAL = /(ss|us|is)$/;

/**
 * The stem of a word in lower case: words of one stem are taken for one word. Rough: one ending is cut off, then a silent
 * e and a doubled letter; `y` at the end becomes `i`. Words that are not of English letters are their own stem.
 */
export function stemOf(word: string): string {
  if (word.length <= LEAST_STEM || !ENGLISH.test(word) || NO_PLURAL.test(word)) return word;
  for (const [ending, instead] of ENDINGS) {
    if (!word.endsWith(ending)) continue;
    const rest = word.slice(0, -ending.length);
    if (rest.length + instead.length < LEAST_STEM || !VOWEL.test(rest)) continue;
    return tidied(rest + instead);
  }
  return tidied(word);
}

function tidied(stem: string): string {
  if (stem.length <= LEAST_STEM) return stem;
  if (stem.endsWith('e')) return stem.slice(0, -1);
  if (stem.endsWith('y')) return `${stem.slice(0, -1)}i`;
  const last = stem.at(-1) as string;
  return last === stem.at(-2) && !'lsz'.includes(last) ? stem.slice(0, -1) : stem;
}
