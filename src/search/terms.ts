import { isStopWord, type Language, stemWord } from './languages.ts';

/** Maximum characters of a term; longer runs are not words. */
const MAX_TERM_CHARACTERS = 64;
/**
 * Maximum terms of a query, as Lucene's `maxClauseCount`; further words of a longer query are not searched for. The
 * time of a search grows with the terms: 20,000 chunks take 35 ms with 1,000 terms, and a second or more with 20,000.
 */
const MAX_QUERY_TERMS = 1_024;
/** Maximum cached stems. Stemming a word takes 10 microseconds. */
const MAX_CACHED_STEMS = 50_000;

/** Scripts without spaces: South-East Asian, Chinese, Japanese. */
const UNSPACED =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}';

/** A run of an unspaced script, or a word with inner punctuation: `E-4711`, `user_id`, `v1.2.3`, `C++`. */
const RUNS = new RegExp(
  `[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+(?:[-_./:@'’#+](?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+)*(?:\\+\\+|#)?`,
  'gu',
);
const UNSPACED_RUN = new RegExp(`^[${UNSPACED}]`, 'u');

/** Characters that make a run of several parts an identifier. */
const IDENTIFIER = /[\p{N}_.:@+#]/u;

/**
 * Tokenizes a text for keyword search, in order and with repetitions: stems of words without stop words, folded (case,
 * accents, compatibility forms); identifiers such as `E-4711`, `user_id`, `C++` or `OpenAI` also as a whole; character
 * bigrams in scripts without spaces. Terms contain no white space. Queries are tokenized in the language of the
 * documents. Returns the first `maxTerms` terms.
 */
export function tokenizeText(text: string, language: Language, maxTerms = Number.POSITIVE_INFINITY): string[] {
  const terms: string[] = [];
  for (const [run] of text.normalize('NFKC').matchAll(RUNS)) {
    if (terms.length >= maxTerms) break;
    if (UNSPACED_RUN.test(run)) addBigrams(run, terms);
    else addWords(run, language, terms);
  }
  return terms.slice(0, maxTerms);
}

function addBigrams(run: string, terms: string[]): void {
  const characters = Array.from(run);
  if (characters.length === 1) terms.push(run);
  for (let i = 1; i < characters.length; i++) terms.push(`${characters[i - 1]}${characters[i]}`);
}

function addWords(run: string, language: Language, terms: string[]): void {
  const joined = run
    .replace(/['’]s$/i, '')
    .split(SEPARATORS)
    .filter((part) => part !== '');
  const words = joined.map(splitCamelCase);
  const isIdentifier = words.flat().length > 1 && IDENTIFIER.test(run);
  const whole = run.toLowerCase();
  const hasWhole = (isIdentifier || /[+#]$/.test(run)) && whole.length <= MAX_TERM_CHARACTERS;
  if (hasWhole) terms.push(foldAccents(whole));
  for (const [i, part] of joined.entries()) {
    const parts = words[i] ?? [];
    // `OpenAI` also matches `openai`.
    if (parts.length > 1 && !(hasWhole && joined.length === 1)) addWord(part, { language, isIdentifier: true }, terms);
    for (const word of parts) addWord(word, { language, isIdentifier }, terms);
  }
}

/** Adds a word. Parts of identifiers are kept even if they are stop words. */
function addWord(
  text: string,
  { language, isIdentifier }: { language: Language; isIdentifier: boolean },
  terms: string[],
): void {
  const word = text.toLowerCase();
  if (word.length > MAX_TERM_CHARACTERS || (!isIdentifier && isStopWord(word, language))) return;
  terms.push(/\p{N}/u.test(word) ? foldAccents(word) : foldAccents(cachedStem(word, language)));
}

/** Characters between the parts of a run. */
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;

/** Splits a word at lower-to-upper-case transitions. */
function splitCamelCase(word: string): string[] {
  return word.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').split(' ');
}

/** Removes accents, which users often omit. */
function foldAccents(word: string): string {
  return word.normalize('NFD').replace(/\p{M}+/gu, '') || word;
}

const stemCache = new Map<string, string>();

function cachedStem(word: string, language: Language): string {
  const key = `${language} ${word}`;
  const cached = stemCache.get(key);
  if (cached !== undefined) return cached;
  if (stemCache.size >= MAX_CACHED_STEMS) stemCache.clear();
  const stem = stemWord(word, language).toLowerCase();
  stemCache.set(key, stem);
  return stem;
}

/**
 * Tokenizes a query for documents in several languages. Stop words of any of the languages are dropped: in documents of
 * another language they would be rare and score high. The languages share the maximum number of terms.
 */
export function tokenizeQuery(query: string, languages: readonly Language[]): string[] {
  const counts = new Map<string, number>();
  const maxTerms = Math.ceil(MAX_QUERY_TERMS / languages.length);
  for (const language of languages) {
    const ownCounts = new Map<string, number>();
    for (const term of tokenizeText(query, language, maxTerms)) ownCounts.set(term, (ownCounts.get(term) ?? 0) + 1);
    for (const [term, count] of ownCounts) counts.set(term, Math.max(counts.get(term) ?? 0, count));
  }
  const isStop = (term: string) => languages.some((language) => isStopWord(term, language));
  return [...counts].flatMap(([term, count]) => (isStop(term) ? [] : Array<string>(count).fill(term)));
}
