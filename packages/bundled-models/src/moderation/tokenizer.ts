import { foldText } from './fold-text.ts';
import { hashChars, type WordHashes } from './vocabulary.ts';

/** Maximum characters of a word. A longer run is split. */
const MAX_RUN = 48;
/** The rest of a run is skipped after this many characters: it is no text, and costly to segment. */
const MAX_STRETCH = 192;
/** Letters of an unknown word that are read. */
const MAX_UNKNOWN_LETTERS = 24;
/** Maximum letters of a word in a compound. Words of one or two letters must have a rank below `MAX_SHORT_RANK`. */
const MAX_PART_LETTERS = 14;
const MAX_SHORT_RANK = 150;
/** Cost of an unreachable segmentation. */
const UNREACHABLE = 1 << 20;

/** Maximum frequency rank of a word that replaces a misspelled one. */
const MAX_CORRECTION_RANK = 12000;

const LETTER = 1;
const DIGIT = 2;
const SYMBOL = 3;
const FOREIGN = 4;
const KIND = makeKinds();

function makeKinds(): Uint8Array {
  const kinds = new Uint8Array(128);
  for (let code = 97; code <= 122; code++) kinds[code] = LETTER;
  for (let code = 48; code <= 57; code++) kinds[code] = DIGIT;
  for (const sign of "@$+|!*'") kinds[sign.charCodeAt(0)] = SYMBOL;
  return kinds;
}

/** Letters that digits and symbols stand for. `1`, `!` and `|` are also tried as `l`. */
const LEET: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '!': 'i',
  '|': 'i',
  '+': 't',
};

/** The tokens of a text. */
export interface ModerationTokens {
  /** Word ids; `-1 - i` stands for `unknown[i]`. */
  readonly ids: number[];
  /** Words outside the vocabulary: letters a to z. */
  readonly unknown: string[];
}

/**
 * Splits a text into words and punctuation and undoes obfuscation: joins spaced-out letters, reads leetspeak, splits
 * compounds and corrects misspellings where the vocabulary contains the result.
 */
export function tokenizeForModeration(text: string, vocabulary: WordHashes): ModerationTokens {
  return new ModerationTokenizer(foldText(text), vocabulary).tokenize();
}

class ModerationTokenizer {
  readonly #text: string;
  readonly #vocabulary: WordHashes;
  readonly #ids: number[] = [];
  readonly #unknown: string[] = [];
  readonly #idsOfRun = new Map<string, number[]>();
  #isQuoted = false;
  /** Start and end of the current sequence of adjacent runs. */
  #stretchStart = -1;
  #stretchEnd = -1;

  constructor(folded: string, vocabulary: WordHashes) {
    this.#text = folded;
    this.#vocabulary = vocabulary;
  }

  tokenize(): ModerationTokens {
    const text = this.#text;
    let at = 0;
    while (at < text.length) {
      const kind = this.#kind(at);
      if (kind === 0) {
        this.#punctuation(at);
        at++;
      } else if (kind === FOREIGN) at = this.#foreign(at);
      else at = this.#run(at);
    }
    return { ids: this.#ids, unknown: this.#unknown };
  }

  /** Kind of the character at `at`. `!`, `+` and `|` belong to a word only between letters or digits. */
  #kind(at: number): number {
    const code = this.#text.charCodeAt(at);
    if (code >= 128) return FOREIGN;
    const kind = KIND[code] ?? 0;
    if (code !== 33 && code !== 43 && code !== 124) return kind;
    const next = this.#text.charCodeAt(at + 1);
    const previous = at > 0 ? this.#text.charCodeAt(at - 1) : 32;
    return this.#isAlphanumeric(next) && this.#isAlphanumeric(previous) ? kind : 0;
  }

  #isAlphanumeric(code: number): boolean {
    return code < 128 && (KIND[code] === LETTER || KIND[code] === DIGIT);
  }

  #punctuation(at: number): void {
    const character = this.#text.charAt(at);
    if (character === '!' || character === '?' || character === '"') this.#special(character);
    else if (character === '\n') this.#special('.');
    else if (
      (character === '.' || character === ',' || character === ';' || character === ':') &&
      !this.#isAlphanumeric(this.#text.charCodeAt(at + 1))
    )
      this.#special(character === '.' || character === ';' ? '.' : ',');
  }

  /** Appends punctuation, `#` (number) or `~` (other script) unless it is the last token already. */
  #special(token: string): void {
    const id = this.#vocabulary.find(hashChars(token));
    if (id >= 0 && this.#ids[this.#ids.length - 1] !== id) this.#ids.push(id);
  }

  /** Reads a symbol of the vocabulary, or a run of another script. Returns its end. */
  #foreign(start: number): number {
    const text = this.#text;
    const code = text.codePointAt(start) ?? 0;
    const end = start + (code > 0xffff ? 2 : 1);
    if (code < 0xa1 || (code >= 0x2000 && code <= 0x200a)) return end;
    const isSymbol = (code >= 0x2190 && code <= 0x2bff) || code >= 0x1f000;
    const id = isSymbol ? this.#vocabulary.find(hashChars(text, start, end)) : -1;
    if (id >= 0) {
      this.#ids.push(id);
      return end;
    }
    this.#special('~');
    let at = end;
    for (let next = text.charCodeAt(at); next >= 0x3041 && next <= 0xd7a3; next = text.charCodeAt(at)) at++;
    return at;
  }

  #run(start: number): number {
    const text = this.#text;
    const next = text.charCodeAt(start + 1);
    const spacedEnd = next >= 97 && next <= 122 ? start : this.#spacedLetters(start);
    if (spacedEnd > start) return spacedEnd;
    let end = start;
    let value = 0x811c9dc5;
    let isPlain = true;
    for (; end < text.length && end - start < MAX_RUN; end++) {
      const code = text.charCodeAt(end);
      if (code < 97 || code > 122) {
        const kind = this.#kind(end);
        if (kind === 0 || kind === FOREIGN) break;
        isPlain = false;
      }
      value = Math.imul(value ^ code, 0x01000193);
    }
    if (end - start === MAX_RUN) {
      if (start !== this.#stretchEnd) this.#stretchStart = start;
      this.#stretchEnd = end;
      if (end - this.#stretchStart > MAX_STRETCH) return this.#skip(end);
    }
    const row = isPlain ? this.#vocabulary.find(value >>> 0) : -1;
    if (row >= 0) this.#ids.push(row);
    else this.#quotedRun(text.slice(start, end));
    return end;
  }

  #skip(from: number): number {
    let at = from;
    for (; at < this.#text.length; at++) {
      const kind = this.#kind(at);
      if (kind === 0 || kind === FOREIGN) break;
    }
    this.#special('~');
    return at;
  }

  /** Joins three or more single characters with the same separator. Returns the end, or `start` if there are none. */
  #spacedLetters(start: number): number {
    const text = this.#text;
    const separator = text.charCodeAt(start + 1);
    if (!(separator < 128) || this.#kind(start + 1) !== 0 || separator === 10) return start;
    let end = start;
    let letters = KIND[text.charCodeAt(start)] === LETTER ? 1 : 0;
    while (end - start < 2 * MAX_RUN && text.charCodeAt(end + 1) === separator && this.#isSingle(end + 2)) {
      end += 2;
      if (KIND[text.charCodeAt(end)] === LETTER) letters++;
    }
    if (end - start < 4 || letters < 2) return start;
    let joined = '';
    for (let i = start; i <= end; i += 2) joined += text.charAt(i);
    this.#resolve(joined);
    return end + 1;
  }

  #isSingle(at: number): boolean {
    if (at >= this.#text.length) return false;
    const kind = this.#kind(at);
    if (kind === 0 || kind === FOREIGN) return false;
    const next = at + 1 < this.#text.length ? this.#kind(at + 1) : 0;
    return next === 0 || next === FOREIGN;
  }

  /** Reads a run whose outer apostrophes are quotation marks. */
  #quotedRun(run: string): void {
    let from = 0;
    let to = run.length;
    while (from < to && run.charCodeAt(from) === 39) from++;
    while (to > from && run.charCodeAt(to - 1) === 39) to--;
    if (from > 0 && to > from) {
      this.#special('"');
      this.#isQuoted = true;
    }
    if (to > from) this.#resolve(run.slice(from, to));
    if ((to < run.length || to === from) && this.#isQuoted) {
      this.#special('"');
      this.#isQuoted = false;
    }
  }

  /** Appends the tokens of a run of word characters. Runs are cached per text. */
  #resolve(raw: string): void {
    const cached = this.#idsOfRun.get(raw);
    if (cached !== undefined) {
      for (const id of cached) this.#ids.push(id);
      return;
    }
    const from = this.#ids.length;
    this.#appendRun(raw);
    if (/[a-z]/.test(raw)) this.#idsOfRun.set(raw, this.#ids.slice(from));
  }

  #appendRun(raw: string): void {
    const run = raw.replace(/(.)\1\1+/g, '$1$1');
    const trimmed = run.replace(/^[@$+|!*']+|[@$+|!*']+$/g, '');
    const first = replaceLeet(run.replace(/^[+|!*']+|[+|!*']+$/g, ''), 'i');
    for (const candidate of candidateSpellings(run, trimmed, first)) {
      const id = this.#vocabulary.find(hashChars(candidate));
      if (id >= 0) {
        this.#ids.push(id);
        return;
      }
    }
    if (!/[a-z]/.test(run)) {
      if (/[0-9]/.test(run)) this.#special('#');
      return;
    }
    const word = (/^[a-z]+$/.test(trimmed) ? trimmed : first).replace(/[^a-z]/g, '');
    if (word === '' || this.#appendCompound(word) || this.#appendCorrection(word)) return;
    this.#unknown.push(word.slice(0, MAX_UNKNOWN_LETTERS));
    this.#ids.push(-this.#unknown.length);
  }

  /**
   * Appends the most frequent word at one transposition, insertion or deletion from `word` that keeps the first letter.
   * Returns false when there is none.
   */
  #appendCorrection(word: string): boolean {
    const last = word.length - 1;
    if (last < 3 || last > 14) return false;
    let best = MAX_CORRECTION_RANK;
    const tryWord = (start: number, middle: string, from: number): void => {
      let value = start;
      for (let i = 0; i < middle.length; i++) value = Math.imul(value ^ middle.charCodeAt(i), 0x01000193);
      for (let i = from; i <= last; i++) value = Math.imul(value ^ word.charCodeAt(i), 0x01000193);
      const id = this.#vocabulary.find(value >>> 0);
      if (id >= 0 && id < best) best = id;
    };
    for (let at = 1; at <= last; at++) {
      const start = hashChars(word, 0, at);
      for (let letter = 97; letter <= 122; letter++) tryWord(Math.imul(start ^ letter, 0x01000193), '', at);
      if (at < last && last > 3) tryWord(start, '', at + 1);
      if (at + 1 < last) tryWord(start, word.charAt(at + 1) + word.charAt(at), at + 2);
    }
    if (best === MAX_CORRECTION_RANK) return false;
    this.#ids.push(best);
    return true;
  }

  /**
   * Appends the segmentation of `word` into words of minimal cost: 4 bits per word, plus the bits of its rank. Returns
   * false when there is none or its words average less than 2.5 letters.
   */
  #appendCompound(word: string): boolean {
    const length = word.length;
    if (length < 6) return false;
    const costs = new Int32Array(length + 1).fill(UNREACHABLE);
    const starts = new Int32Array(length + 1);
    const parts = new Int32Array(length + 1);
    costs[0] = 0;
    for (let from = 0; from < length; from++) {
      const costBefore = costs[from] ?? 0;
      if (costBefore >= UNREACHABLE) continue;
      let value = 0x811c9dc5;
      for (let to = from + 1; to <= length && to - from <= MAX_PART_LETTERS; to++) {
        value = Math.imul(value ^ word.charCodeAt(to - 1), 0x01000193);
        const id = this.#vocabulary.find(value >>> 0);
        if (id < 0 || (to - from < 3 && id >= MAX_SHORT_RANK)) continue;
        const cost = costBefore + 36 - Math.clz32(id + 1);
        if (cost >= (costs[to] ?? 0)) continue;
        costs[to] = cost;
        starts[to] = from;
        parts[to] = id;
      }
    }
    const segments: number[] = [];
    if ((costs[length] ?? 0) >= UNREACHABLE) return false;
    for (let to = length; to > 0; to = starts[to] ?? 0) segments.push(parts[to] ?? 0);
    if (segments.length * 5 > length * 2) return false;
    for (const id of segments.reverse()) this.#ids.push(id);
    return true;
  }
}

/** Replaces leetspeak digits and symbols by letters. `one`: the letter for `1`, `!` and `|`. */
function replaceLeet(run: string, one: string): string {
  return run.replace(/[0-9@$!|+]/g, (sign) => ('1!|'.includes(sign) ? one : (LEET[sign] ?? '')));
}

/** Spellings to look up for a run, best first. */
function candidateSpellings(run: string, trimmed: string, first: string): string[] {
  if (/^[a-z]+$/.test(run)) return [run, collapseRepeats(run)];
  const spellings = [run];
  const second = replaceLeet(run.replace(/^[+|!*']+|[+|!*']+$/g, ''), 'l');
  const bare = run.replace(/[^a-z]/g, '');
  if (bare !== '' || /^[@$!]+$/.test(run)) spellings.push(first, second);
  spellings.push(trimmed);
  if (trimmed.endsWith("'s")) spellings.push(trimmed.slice(0, -2));
  if (bare !== '') spellings.push(collapseRepeats(first), collapseRepeats(second));
  if (bare !== trimmed && bare.length > 2) spellings.push(bare, collapseRepeats(bare));
  return spellings;
}

function collapseRepeats(word: string): string {
  return word.replace(/(.)\1+/g, '$1');
}

/** Hash buckets of the 3- to 5-grams of `<word>`. `buckets` is a power of two. */
export function spellingBuckets(word: string, buckets: number): number[] {
  const marked = `<${word.slice(0, MAX_UNKNOWN_LETTERS)}>`;
  const result: number[] = [];
  for (let size = 3; size <= 5; size++) {
    for (let from = 0; from + size <= marked.length; from++) {
      const value = hashChars(marked, from, from + size);
      result.push((value ^ (value >>> 15)) & (buckets - 1));
    }
  }
  return result;
}
