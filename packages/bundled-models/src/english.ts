/** Suffixes in the order in which they are tried, with their replacements. */
const SUFFIXES: readonly (readonly [suffix: string, replacement: string])[] = (
  'izations:iz ization:iz ational:at fulness:ful ousness:ous iveness:iv ations:at ation:at ators:at ator:at uctions:uc uction:uc ' +
  'ments: ment: ities: ingly: ness: ions: ings: edly: ies:i ied:i ity: ion: ing: ers: est: ly: ed: er: es: s:'
)
  .split(' ')
  .map((pair) => pair.split(':') as [string, string]);
const MIN_STEM_LETTERS = 3;
const ENGLISH_WORD = /^[a-z]+$/;
const VOWEL = /[aeiouy]/;
/** Endings of singular words that look like a plural. */
const SINGULAR = /(ss|us|is)$/;

/** Words of questions and sentences that do not describe what a text is about. */
const STOP_WORDS = new Set(
  (
    'a about after all also am an and any are as at be because been before being both but by can could did do does ' +
    'doing done during each either for from had has have having he her here hers him his how i if in into is it its ' +
    'just may me might more most much must my no nor not of off on one only or other our out over own s same shall ' +
    'she should so some such t than that the their them then there these they this those through to too under until ' +
    'up us very was we were what when where which while who whom whose why will with would you your many name called ' +
    'find information tell interested like want know please give show articles article'
  ).split(' '),
);

/**
 * The stem on which the weights of the bundled reranker and chat ranking were trained: one suffix, a silent e and a
 * doubled consonant are removed, a final y becomes i. Lower case; words that are not of the letters a to z are their
 * own stem. The Snowball stemmer of the keyword search ranks worse here (bench/results/0021-bundled-models.md).
 */
export function trainedStem(word: string): string {
  if (word.length <= MIN_STEM_LETTERS || !ENGLISH_WORD.test(word) || SINGULAR.test(word)) return word;
  for (const [suffix, replacement] of SUFFIXES) {
    if (!word.endsWith(suffix)) continue;
    const rest = word.slice(0, -suffix.length);
    if (rest.length + replacement.length >= MIN_STEM_LETTERS && VOWEL.test(rest)) return trimEnd(rest + replacement);
  }
  return trimEnd(word);
}

function trimEnd(stem: string): string {
  if (stem.length <= MIN_STEM_LETTERS) return stem;
  if (stem.endsWith('e')) return stem.slice(0, -1);
  if (stem.endsWith('y')) return `${stem.slice(0, -1)}i`;
  const last = stem.at(-1) ?? '';
  return last === stem.at(-2) && !'lsz'.includes(last) ? stem.slice(0, -1) : stem;
}

/** Whether a lower-case word is an English stop word or belongs to the wording of requests. */
export function isTrainedStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
