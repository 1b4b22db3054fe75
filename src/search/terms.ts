import { isStopWord, type Language, stemOf } from './languages.ts';

/** Characters of a term. What is longer is no word, and nobody looks for it by typing it. */
const MAX_TERM_CHARACTERS = 64;
/** Stems that are remembered: the words of a large collection repeat, and a stem takes ten microseconds. */
const MAX_KNOWN_STEMS = 50_000;

/** Scripts that are written without spaces: South-East Asian, Chinese, Japanese. */
const UNSPACED =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}';

/** A run of an unspaced script, or of other words with what may stand inside of a name: `E-4711`, `user_id`, `v1.2.3`, `C++`. */
const RUNS = new RegExp(
  `[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+(?:[-_./:@'’#+](?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+)*(?:\\+\\+|#)?`,
  'gu',
);
const UNSPACED_RUN = new RegExp(`^[${UNSPACED}]`, 'u');

/** What makes a run of several parts a name: a digit, or a sign that does not join words of a sentence. */
const NAME = /[\p{N}_.:@+#]/u;

/**
 * The terms by which a text is found by keyword, in order and with repetitions: stems of its words without stop words, folded
 * (case, accents, compatibility forms); names such as `E-4711`, `user_id`, `C++` or `OpenAI` whole besides; pairs of characters in scripts
 * without spaces. A query is looked for by the terms that it has in the language of the documents. No term has white space.
 */
export function termsOf(text: string, language: Language): string[] {
  const terms: string[] = [];
  for (const [run] of text.normalize('NFKC').matchAll(RUNS)) {
    if (UNSPACED_RUN.test(run)) addPairs(run, terms);
    else addWords(run, language, terms);
  }
  return terms;
}

function addPairs(run: string, terms: string[]): void {
  const characters = Array.from(run);
  if (characters.length === 1) terms.push(run);
  for (let i = 1; i < characters.length; i++) terms.push(`${characters[i - 1]}${characters[i]}`);
}

function addWords(run: string, language: Language, terms: string[]): void {
  const joined = run
    .replace(/['’]s$/i, '')
    .split(SEPARATORS)
    .filter((part) => part !== '');
  const words = joined.map(capitalParts);
  const isName = words.flat().length > 1 && NAME.test(run);
  const whole = run.toLowerCase();
  const hasWhole = (isName || /[+#]$/.test(run)) && whole.length <= MAX_TERM_CHARACTERS;
  if (hasWhole) terms.push(folded(whole));
  for (const [i, part] of joined.entries()) {
    const parts = words[i] ?? [];
    // `OpenAI` is looked for as `openai`, too.
    if (parts.length > 1 && !(hasWhole && joined.length === 1)) addWord(part, { language, isName: true }, terms);
    for (const word of parts) addWord(word, { language, isName }, terms);
  }
}

/** A part of a name may be short and common, and still what tells it apart. */
function addWord(text: string, { language, isName }: { language: Language; isName: boolean }, terms: string[]): void {
  const word = text.toLowerCase();
  if (word.length > MAX_TERM_CHARACTERS || (!isName && isStopWord(word, language))) return;
  terms.push(/\p{N}/u.test(word) ? folded(word) : folded(stem(word, language)));
}

/** What joins the parts of a run. */
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;

/** The parts of a word that begin where a capital follows a small letter. */
function capitalParts(word: string): string[] {
  return word.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').split(' ');
}

/** Without accents, which many leave out when they type. */
function folded(word: string): string {
  return word.normalize('NFD').replace(/\p{M}+/gu, '') || word;
}

const knownStems = new Map<string, string>();

function stem(word: string, language: Language): string {
  const key = `${language} ${word}`;
  const known = knownStems.get(key);
  if (known !== undefined) return known;
  if (knownStems.size >= MAX_KNOWN_STEMS) knownStems.clear();
  const made = stemOf(word, language).toLowerCase();
  knownStems.set(key, made);
  return made;
}

/**
 * The terms to look for a query by, in documents of several languages: each as often as the query has it. A stop word of any of the
 * languages is none: to the documents in another one it would be a rare and telling word.
 */
export function queryTerms(query: string, languages: readonly Language[]): string[] {
  const counts = new Map<string, number>();
  for (const language of languages) {
    const own = new Map<string, number>();
    for (const term of termsOf(query, language)) own.set(term, (own.get(term) ?? 0) + 1);
    for (const [term, count] of own) counts.set(term, Math.max(counts.get(term) ?? 0, count));
  }
  const isStop = (term: string) => languages.some((language) => isStopWord(term, language));
  return [...counts].flatMap(([term, count]) => (isStop(term) ? [] : Array<string>(count).fill(term)));
}
