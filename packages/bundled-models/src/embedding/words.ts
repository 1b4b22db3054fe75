/** Scripts without spaces, whose characters stand for words. */
const UNSPACED =
  '\\u{0e00}-\\u{0eff}\\u{1000}-\\u{109f}\\u{1780}-\\u{17ff}\\u{2e80}-\\u{2fdf}\\u{3005}-\\u{3007}\\u{3040}-\\u{30ff}' +
  '\\u{3400}-\\u{4dbf}\\u{4e00}-\\u{9fff}\\u{f900}-\\u{faff}\\u{20000}-\\u{3ffff}';
/** A run of characters of such scripts, a run of other word characters, or one symbol outside ASCII. */
const WORD = new RegExp(`[${UNSPACED}]+|[[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]+|[^\\x00-\\x7f\\p{C}\\p{Z}]`, 'gv');
const ASCII_WORD = /[a-z0-9]+/g;
const VISIBLE = /[^\p{C}\p{Z}]/gu;
const UNSPACED_FIRST = new RegExp(`^[${UNSPACED}]`, 'v');
/** Combining diacritical marks without U+034F, which blocks reordering of other marks. */
const MARKS_AHEAD = /[\u0300-\u034e\u0350-\u036f]+/g;
const MARKS = /[\u0300-\u036f]+/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches all of ASCII
const ASCII_ONLY = /^[\x00-\x7f]*$/;

/** Minimum characters of a part. Small, so that tokenizing stops soon after the token limit. */
const PART_CHARACTERS = 2_048;
/**
 * Maximum characters of a part without an ASCII separator. Longer runs exceed every token limit. Normalisation is
 * quadratic in unordered combining marks: 50 ms for 16,384 of them.
 */
const LONGEST_ASCII_PART = 65_536;
const LONGEST_PART = 16_384;

/**
 * Calls `take` with each normalised word of a text in order until it returns false. A text without words gives its
 * visible characters, a blank text the empty word: there is always at least one.
 */
export function eachWord(text: string, take: (word: string) => boolean): void {
  if (eachMatch(text, WORD, take) === 0 && eachMatch(text, VISIBLE, take) === 0) take('');
}

/** Whether a word belongs to a script without spaces. */
export function isUnspaced(word: string): boolean {
  return UNSPACED_FIRST.test(word);
}

/** Returns the number of matches passed to `take`. */
function eachMatch(text: string, pattern: RegExp, take: (word: string) => boolean): number {
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const end = partEnd(text, at);
    const part = normalise(text.slice(at, end));
    // Finds the same words in ASCII text, many times faster.
    const matches = part.match(pattern === WORD && ASCII_ONLY.test(part) ? ASCII_WORD : pattern) ?? [];
    for (const match of matches) {
      count++;
      if (!take(match)) return count;
    }
    at = end;
  }
  return count;
}

/** Splits camel case, folds compatibility forms and case, and removes accents. */
function normalise(part: string): string {
  const spaced = part.replace(/([a-z])([A-Z])/g, '$1 $2');
  if (ASCII_ONLY.test(spaced)) return spaced.toLowerCase();
  // Removes accents before NFKD too, which is quadratic in unordered marks.
  const decomposed = spaced.replace(MARKS_AHEAD, '').normalize('NFKD').toLowerCase();
  return decomposed.replace(MARKS, '').normalize('NFKC');
}

/** End of the part that starts at `from`: before an ASCII separator, which no word or normalisation form spans. */
function partEnd(text: string, from: number): number {
  let isKnownAscii = false;
  let left = LONGEST_PART - PART_CHARACTERS;
  for (let at = from + PART_CHARACTERS; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSeparator(code)) return at;
    // Accents are removed, so a word may have any number of them.
    if (code < 0x300 || code > 0x36f) left--;
    if (left > 0) continue;
    if (isKnownAscii || !ASCII_ONLY.test(text.slice(from, at))) return splitsSurrogatePair(text, at) ? at - 1 : at;
    isKnownAscii = true;
    left = LONGEST_ASCII_PART - LONGEST_PART;
  }
  return text.length;
}

/** Whether `at` splits a surrogate pair. */
function splitsSurrogatePair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

function isSeparator(code: number): boolean {
  const letter = code | 0x20;
  return code < 0x80 && !(code >= 0x30 && code <= 0x39) && !(letter >= 0x61 && letter <= 0x7a);
}
