import { fold } from './fold.ts';
import { hash, type Vocabulary } from './vocabulary.ts';

/** Longest run of word characters that is read as one word; the rest is read as further words. */
const LONGEST_RUN = 48;
/** What follows so many word characters without a break is skipped: no text, and costly to part. */
const LONGEST_STRETCH = 192;
/** Letters of an unknown word that are looked at. */
export const LONGEST_WORD = 24;
const LONGEST_PIECE = 14;
/** Pieces of one or two letters must be among this many most frequent words. */
const SHORT_PIECE_RANK = 150;

/** Misspelt words are read as one of this many most frequent words. */
const MENDED_RANK = 12000;

const LETTER = 1;
const DIGIT = 2;
const SIGN = 3;
const FOREIGN = 4;
const KIND = makeKinds();

function makeKinds(): Uint8Array {
  const kinds = new Uint8Array(128);
  for (let code = 97; code <= 122; code++) kinds[code] = LETTER;
  for (let code = 48; code <= 57; code++) kinds[code] = DIGIT;
  for (const sign of "@$+|!*'") kinds[sign.charCodeAt(0)] = SIGN;
  return kinds;
}

/** What the digits and signs inside a word stand for; `1`, `!` and `|` are tried as `l` too. */
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

/** The tokens of one text. */
export interface Tokens {
  /** The id of a known word, or `-1 - i` for `unknown[i]`. */
  readonly ids: number[];
  /** Words that are not in the vocabulary: a to z, at most `LONGEST_WORD` letters. */
  readonly unknown: string[];
}

/**
 * Cuts `text` into words and punctuation, with letters written apart joined, leetspeak read and words written together
 * parted where the vocabulary knows the result.
 */
export function tokenize(text: string, vocabulary: Vocabulary): Tokens {
  return new Reader(fold(text), vocabulary).read();
}

class Reader {
  readonly #text: string;
  readonly #vocabulary: Vocabulary;
  readonly #ids: number[] = [];
  readonly #unknown: string[] = [];
  readonly #resolved = new Map<string, number[]>();
  #quoted = false;
  /** Where the present stretch of runs without a break began, and how far it has been read. */
  #stretch = -1;
  #stretched = -1;

  constructor(folded: string, vocabulary: Vocabulary) {
    this.#text = folded;
    this.#vocabulary = vocabulary;
  }

  read(): Tokens {
    const text = this.#text;
    let at = 0;
    while (at < text.length) {
      const kind = this.#kind(at);
      if (kind === 0) {
        this.#mark(at);
        at++;
      } else if (kind === FOREIGN) at = this.#foreign(at);
      else at = this.#run(at);
    }
    return { ids: this.#ids, unknown: this.#unknown };
  }

  /** What stands at `at`. A sign that would end its word is none: `stop!` is a word and a mark. */
  #kind(at: number): number {
    const code = this.#text.charCodeAt(at);
    if (code >= 128) return FOREIGN;
    const kind = KIND[code] ?? 0;
    if (code !== 33 && code !== 43 && code !== 124) return kind;
    const next = this.#text.charCodeAt(at + 1);
    const before = at > 0 ? this.#text.charCodeAt(at - 1) : 32;
    return this.#plain(next) && this.#plain(before) ? kind : 0;
  }

  #plain(code: number): boolean {
    return code < 128 && (KIND[code] === LETTER || KIND[code] === DIGIT);
  }

  #mark(at: number): void {
    const character = this.#text.charAt(at);
    if (character === '!' || character === '?' || character === '"') this.#word(character);
    else if (character === '\n') this.#word('.');
    else if (
      (character === '.' || character === ',' || character === ';' || character === ':') &&
      !this.#plain(this.#text.charCodeAt(at + 1))
    )
      this.#word(character === '.' || character === ';' ? '.' : ',');
  }

  /** Marks, `#` and `~` are words of the vocabulary; none is said twice in a row. */
  #word(mark: string): void {
    const id = this.#vocabulary.find(hash(mark));
    if (id >= 0 && this.#ids[this.#ids.length - 1] !== id) this.#ids.push(id);
  }

  /** A sign that the vocabulary knows, or a stretch of letters of other scripts. Returns where it ends. */
  #foreign(start: number): number {
    const text = this.#text;
    const code = text.codePointAt(start) ?? 0;
    const end = start + (code > 0xffff ? 2 : 1);
    if (code < 0xa1 || (code >= 0x2000 && code <= 0x200a)) return end;
    const sign = (code >= 0x2190 && code <= 0x2bff) || code >= 0x1f000;
    const id = sign ? this.#vocabulary.find(hash(text, start, end)) : -1;
    if (id >= 0) {
      this.#ids.push(id);
      return end;
    }
    this.#word('~');
    let at = end;
    for (let next = text.charCodeAt(at); next >= 0x3041 && next <= 0xd7a3; next = text.charCodeAt(at)) at++;
    return at;
  }

  #run(start: number): number {
    const text = this.#text;
    const next = text.charCodeAt(start + 1);
    const apart = next >= 97 && next <= 122 ? start : this.#lettersApart(start);
    if (apart > start) return apart;
    let end = start;
    let value = 0x811c9dc5;
    let letters = true;
    for (; end < text.length && end - start < LONGEST_RUN; end++) {
      const code = text.charCodeAt(end);
      if (code < 97 || code > 122) {
        const kind = this.#kind(end);
        if (kind === 0 || kind === FOREIGN) break;
        letters = false;
      }
      value = Math.imul(value ^ code, 0x01000193);
    }
    if (end - start === LONGEST_RUN) {
      if (start !== this.#stretched) this.#stretch = start;
      this.#stretched = end;
      if (end - this.#stretch > LONGEST_STRETCH) return this.#skip(end);
    }
    const known = letters ? this.#vocabulary.find(value >>> 0) : -1;
    if (known >= 0) this.#ids.push(known);
    else this.#quotedRun(text.slice(start, end));
    return end;
  }

  #skip(from: number): number {
    let at = from;
    for (; at < this.#text.length; at++) {
      const kind = this.#kind(at);
      if (kind === 0 || kind === FOREIGN) break;
    }
    this.#word('~');
    return at;
  }

  /** Three or more single characters with the same one between them are one word. Returns where it ends, or `start`. */
  #lettersApart(start: number): number {
    const text = this.#text;
    const between = text.charCodeAt(start + 1);
    if (!(between < 128) || this.#kind(start + 1) !== 0 || between === 10) return start;
    let end = start;
    let letters = KIND[text.charCodeAt(start)] === LETTER ? 1 : 0;
    while (end - start < 2 * LONGEST_RUN && text.charCodeAt(end + 1) === between && this.#single(end + 2)) {
      end += 2;
      if (KIND[text.charCodeAt(end)] === LETTER) letters++;
    }
    if (end - start < 4 || letters < 2) return start;
    let joined = '';
    for (let i = start; i <= end; i += 2) joined += text.charAt(i);
    this.#resolve(joined);
    return end + 1;
  }

  #single(at: number): boolean {
    if (at >= this.#text.length) return false;
    const kind = this.#kind(at);
    if (kind === 0 || kind === FOREIGN) return false;
    const next = at + 1 < this.#text.length ? this.#kind(at + 1) : 0;
    return next === 0 || next === FOREIGN;
  }

  /** Apostrophes around a word are quotation marks. */
  #quotedRun(run: string): void {
    let from = 0;
    let to = run.length;
    while (from < to && run.charCodeAt(from) === 39) from++;
    while (to > from && run.charCodeAt(to - 1) === 39) to--;
    if (from > 0 && to > from) {
      this.#word('"');
      this.#quoted = true;
    }
    if (to > from) this.#resolve(run.slice(from, to));
    if ((to < run.length || to === from) && this.#quoted) {
      this.#word('"');
      this.#quoted = false;
    }
  }

  /** Adds what `raw`, a run of word characters, stands for; each run is worked out once a text. */
  #resolve(raw: string): void {
    const before = this.#resolved.get(raw);
    if (before !== undefined) {
      for (const id of before) this.#ids.push(id);
      return;
    }
    const from = this.#ids.length;
    this.#workOut(raw);
    if (/[a-z]/.test(raw)) this.#resolved.set(raw, this.#ids.slice(from));
  }

  #workOut(raw: string): void {
    const run = raw.replace(/(.)\1\1+/g, '$1$1');
    const trimmed = run.replace(/^[@$+|!*']+|[@$+|!*']+$/g, '');
    const first = readLeet(run.replace(/^[+|!*']+|[+|!*']+$/g, ''), 'i');
    for (const candidate of candidates(run, trimmed, first)) {
      const id = this.#vocabulary.find(hash(candidate));
      if (id >= 0) {
        this.#ids.push(id);
        return;
      }
    }
    if (!/[a-z]/.test(run)) {
      if (/[0-9]/.test(run)) this.#word('#');
      return;
    }
    const word = (/^[a-z]+$/.test(trimmed) ? trimmed : first).replace(/[^a-z]/g, '');
    if (word === '' || this.#part(word) || this.#mend(word)) return;
    this.#unknown.push(word.slice(0, LONGEST_WORD));
    this.#ids.push(-this.#unknown.length);
  }

  /**
   * Reads `word` as the most frequent word that differs from it by two letters swapped, one missing or one too many, between
   * the first letter and the last; false where there is none among the frequent ones.
   */
  #mend(word: string): boolean {
    const last = word.length - 1;
    if (last < 3 || last > 14) return false;
    let best = MENDED_RANK;
    const look = (start: number, middle: string, from: number): void => {
      let value = start;
      for (let i = 0; i < middle.length; i++) value = Math.imul(value ^ middle.charCodeAt(i), 0x01000193);
      for (let i = from; i <= last; i++) value = Math.imul(value ^ word.charCodeAt(i), 0x01000193);
      const id = this.#vocabulary.find(value >>> 0);
      if (id >= 0 && id < best) best = id;
    };
    for (let at = 1; at <= last; at++) {
      const start = hash(word, 0, at);
      for (let letter = 97; letter <= 122; letter++) look(Math.imul(start ^ letter, 0x01000193), '', at);
      if (at < last && last > 3) look(start, '', at + 1);
      if (at + 1 < last) look(start, word.charAt(at + 1) + word.charAt(at), at + 2);
    }
    if (best === MENDED_RANK) return false;
    this.#ids.push(best);
    return true;
  }

  /**
   * Parts `word` into known words of least cost, 4 bits for each and as many as its rank has; false where that fails or
   * the pieces would be crumbs.
   */
  #part(word: string): boolean {
    const length = word.length;
    if (length < 6) return false;
    const costs = new Int32Array(length + 1).fill(1 << 20);
    const starts = new Int32Array(length + 1);
    const pieces = new Int32Array(length + 1);
    costs[0] = 0;
    for (let from = 0; from < length; from++) {
      const before = costs[from] ?? 0;
      if (before >= 1 << 20) continue;
      let value = 0x811c9dc5;
      for (let to = from + 1; to <= length && to - from <= LONGEST_PIECE; to++) {
        value = Math.imul(value ^ word.charCodeAt(to - 1), 0x01000193);
        const id = this.#vocabulary.find(value >>> 0);
        if (id < 0 || (to - from < 3 && id >= SHORT_PIECE_RANK)) continue;
        const cost = before + 36 - Math.clz32(id + 1);
        if (cost >= (costs[to] ?? 0)) continue;
        costs[to] = cost;
        starts[to] = from;
        pieces[to] = id;
      }
    }
    const found: number[] = [];
    if ((costs[length] ?? 0) >= 1 << 20) return false;
    for (let to = length; to > 0; to = starts[to] ?? 0) found.push(pieces[to] ?? 0);
    if (found.length * 5 > length * 2) return false;
    for (const id of found.reverse()) this.#ids.push(id);
    return true;
  }
}

/** `run` with its digits and signs read as letters, `one` for those that may be `i` or `l`. */
function readLeet(run: string, one: string): string {
  return run.replace(/[0-9@$!|+]/g, (sign) => ('1!|'.includes(sign) ? one : (LEET[sign] ?? '')));
}

/** The readings of a run of word characters, best first. */
function candidates(run: string, trimmed: string, first: string): string[] {
  if (/^[a-z]+$/.test(run)) return [run, undouble(run)];
  const readings = [run];
  const second = readLeet(run.replace(/^[+|!*']+|[+|!*']+$/g, ''), 'l');
  const bare = run.replace(/[^a-z]/g, '');
  if (bare !== '' || /^[@$!]+$/.test(run)) readings.push(first, second);
  readings.push(trimmed);
  if (trimmed.endsWith("'s")) readings.push(trimmed.slice(0, -2));
  if (bare !== '') readings.push(undouble(first), undouble(second));
  if (bare !== trimmed && bare.length > 2) readings.push(bare, undouble(bare));
  return readings;
}

function undouble(word: string): string {
  return word.replace(/(.)\1+/g, '$1');
}

/** The buckets, of `buckets` (a power of two), of the sequences of 3 to 5 letters of `word` between `<` and `>`. */
export function spellingBuckets(word: string, buckets: number): number[] {
  const marked = `<${word.slice(0, LONGEST_WORD)}>`;
  const found: number[] = [];
  for (let size = 3; size <= 5; size++) {
    for (let from = 0; from + size <= marked.length; from++) {
      const value = hash(marked, from, from + size);
      found.push((value ^ (value >>> 15)) & (buckets - 1));
    }
  }
  return found;
}
