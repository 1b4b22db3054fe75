/** Scripts that are written without spaces: their characters stand for words. */
const UNSPACED =
  '\\u{0e00}-\\u{0eff}\\u{1000}-\\u{109f}\\u{1780}-\\u{17ff}\\u{2e80}-\\u{2fdf}\\u{3005}-\\u{3007}\\u{3040}-\\u{30ff}' +
  '\\u{3400}-\\u{4dbf}\\u{4e00}-\\u{9fff}\\u{f900}-\\u{faff}\\u{20000}-\\u{3ffff}';
/** A run of unspaced characters, a run of other word characters, or one sign beyond ASCII. */
const WORD = new RegExp(`[${UNSPACED}]+|[[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]+|[^\\x00-\\x7f\\p{C}\\p{Z}]`, 'gv');
const ASCII_WORD = /[a-z0-9]+/g;
const VISIBLE = /[^\p{C}\p{Z}]/gu;
const UNSPACED_FIRST = new RegExp(`^[${UNSPACED}]`, 'v');
/** Accents over Latin letters and their like; U+034F apart, which keeps other marks from changing places. */
const MARKS_AHEAD = /[\u0300-\u034e\u0350-\u036f]+/g;
const MARKS = /[\u0300-\u036f]+/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII_ONLY = /^[\x00-\x7f]*$/;

/** Characters of a part: short, so that counting a text stops soon after it has passed a limit. */
const PART_CHARACTERS = 2_048;
/**
 * Where no ASCII sign or space ends it sooner, a part ends here all the same. Runs of letters and digits as long have more
 * tokens than any caller may send. Normalising takes the square of the length for marks in disorder: 50 ms for 16,384 of them.
 */
const LONGEST_ASCII_PART = 65_536;
const LONGEST_PART = 16_384;

/**
 * The words of a text, in order, part by part; `take` returns whether to go on. A text without any gives its visible
 * characters, a blank one the empty word: always one word at least.
 */
export function eachWord(text: string, take: (word: string) => boolean): void {
  if (eachMatch(text, WORD, take) === 0 && eachMatch(text, VISIBLE, take) === 0) take('');
}

/** Whether a word is of a script that is written without spaces. */
export function isUnspaced(word: string): boolean {
  return UNSPACED_FIRST.test(word);
}

/** How many matches were taken. */
function eachMatch(text: string, pattern: RegExp, take: (word: string) => boolean): number {
  let found = 0;
  for (let at = 0; at < text.length; ) {
    const end = partEnd(text, at);
    const part = normalise(text.slice(at, end));
    // The short way finds the same words in ASCII text, many times faster.
    const matches = part.match(pattern === WORD && ASCII_ONLY.test(part) ? ASCII_WORD : pattern) ?? [];
    for (const match of matches) {
      found++;
      if (!take(match)) return found;
    }
    at = end;
  }
  return found;
}

/** Camel case cut open, compatibility forms folded, lower case, accents off. */
function normalise(part: string): string {
  const open = part.replace(/([a-z])([A-Z])/g, '$1 $2');
  if (ASCII_ONLY.test(open)) return open.toLowerCase();
  // Accents go first as well: thousands of them in disorder would take their square in time.
  const apart = open.replace(MARKS_AHEAD, '').normalize('NFKD').toLowerCase();
  return apart.replace(MARKS, '').normalize('NFKC');
}

/** Where the part from `from` ends: before an ASCII character that is no letter or digit, which no word and no form reaches over. */
function partEnd(text: string, from: number): number {
  let isKnownAscii = false;
  let left = LONGEST_PART - PART_CHARACTERS;
  for (let at = from + PART_CHARACTERS; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSeparator(code)) return at;
    // Accents are left out, so a word may have any number of them.
    if (code < 0x300 || code > 0x36f) left--;
    if (left > 0) continue;
    if (isKnownAscii || !ASCII_ONLY.test(text.slice(from, at))) return isSecondHalf(text, at) ? at - 1 : at;
    isKnownAscii = true;
    left = LONGEST_ASCII_PART - LONGEST_PART;
  }
  return text.length;
}

/** Whether a cut here would go through a character. */
function isSecondHalf(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

function isSeparator(code: number): boolean {
  const letter = code | 0x20;
  return code < 0x80 && !(code >= 0x30 && code <= 0x39) && !(letter >= 0x61 && letter <= 0x7a);
}
