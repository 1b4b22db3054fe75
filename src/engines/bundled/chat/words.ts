/** Words that most questions and sentences have, so that sharing them says nothing. */
const COMMON = new Set(
  (
    'a about after all also am an and any are as at be because been before being but by can could did do does doing done down for ' +
    'from get give given had has have having he her here hers him his how i if in into is it its itself just let like made make ' +
    'many may me might more most much must my near no nor not of off on once one only or other our out over own please said say ' +
    'same she should so some such take tell than that the their them then there these they this those through to too under ' +
    'until up upon us use used very was we were what when where which while who whom whose why will with would you your yes ' +
    "s t d ll re ve m don didn doesn isn aren wasn weren won't according kind sort type name called mean meant"
  ).split(' '),
);

/** A run of letters and digits, with marks; apostrophes end a word, so that `Anna's` has `Anna`. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** Endings that forms of one word differ in, the longest first. Crude on purpose: it only has to be the same twice. */
const ENDINGS: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['fulness', 'ful'],
  ['iveness', 'ive'],
  ['ations', 'ate'],
  ['ation', 'ate'],
  ['ments', ''],
  ['ment', ''],
  ['ingly', ''],
  ['ities', 'ity'],
  ['sses', 'ss'],
  ['ies', 'y'],
  ['ied', 'y'],
  ['ings', ''],
  ['ing', ''],
  ['edly', ''],
  ['ers', ''],
  ['ors', ''],
  ['est', ''],
  ['ed', ''],
  ['er', ''],
  ['or', ''],
  ['ly', ''],
  ['es', ''],
  ['s', ''],
];
/** Letters that a word keeps before its ending: with fewer, `sing` would be `s`. */
const LEAST_STEM = 3;

/** A word of a text. */
export interface Word {
  /** As it stands. */
  text: string;
  /** The same for the forms of one word. */
  stem: string;
}

/** The words of a text in order. */
export function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(WORD), ([word]) => ({ text: word, stem: stemOf(word) }));
}

/** Whether the word has a meaning of its own: it is none that nearly every text has. */
export function isTelling({ text }: Word): boolean {
  return !COMMON.has(text.toLowerCase());
}

/** The distinct stems of the telling words, in order. */
export function tellingStems(text: string): string[] {
  return [
    ...new Set(
      wordsOf(text)
        .filter(isTelling)
        .map((word) => word.stem),
    ),
  ];
}

function stemOf(word: string): string {
  const lower = word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  for (const [ending, instead] of ENDINGS) {
    if (!lower.endsWith(ending) || (ending === 's' && lower.endsWith('ss'))) continue;
    const rest = lower.slice(0, -ending.length);
    if (rest.length < LEAST_STEM) continue;
    // `stopped` and `stop`, `hope` and `hoping`.
    const doubled = rest.at(-1) === rest.at(-2) && !/[lsz]$/.test(rest);
    return withoutFinalE(instead === '' && doubled ? rest.slice(0, -1) : rest + instead);
  }
  return withoutFinalE(lower);
}

const withoutFinalE = (stem: string): string =>
  stem.length > LEAST_STEM && stem.endsWith('e') ? stem.slice(0, -1) : stem;
