import { eachWord, isUnspaced } from './words.ts';

/** Characters of a word of hashed rows that count as one token. */
const CHARACTERS_PER_TOKEN = 4;
const ASCII_WORD = /^[a-z0-9]+$/;

/** What a text was read as. */
export interface Reading {
  /** Rows of the model's table, in the order of the text; not all of them where `tokens` passed the limit. */
  rows: number[];
  /** One at least. More than the limit means that there are more, not how many. */
  tokens: number;
}

/** Cuts texts into rows of the token table, by the rules of the model's card. */
export class Tokenizer {
  readonly #rowOf: ReadonlyMap<string, number>;
  readonly #longest: number;
  readonly #buckets: number;

  /** `pieces[row]` is the piece of a row; the `buckets` rows behind them are the hashed ones. */
  constructor(pieces: readonly string[], buckets: number) {
    this.#rowOf = new Map(pieces.map((piece, row) => [piece, row]));
    this.#longest = pieces.reduce((longest, piece) => Math.max(longest, piece.length), 0);
    this.#buckets = buckets;
    for (const sign of 'abcdefghijklmnopqrstuvwxyz0123456789') {
      if (this.#rowOf.has(sign) && this.#rowOf.has(`##${sign}`)) continue;
      throw new Error(`the embedding model has no piece for '${sign}'`);
    }
  }

  /** Reads a text until it has more than `limit` tokens: what comes after costs nothing. */
  read(text: string, limit = Number.POSITIVE_INFINITY): Reading {
    const rows: number[] = [];
    let tokens = 0;
    eachWord(text, (word) => {
      tokens += this.#readWord(word, rows, limit - tokens);
      return tokens <= limit;
    });
    return { rows, tokens: Math.max(1, tokens) };
  }

  /** Adds the word's rows; returns the tokens that it counts as, or more than `limit` where it has more. */
  #readWord(word: string, rows: number[], limit: number): number {
    const known = this.#rowOf.get(word);
    if (known !== undefined) {
      rows.push(known);
      return 1;
    }
    if (ASCII_WORD.test(word)) return this.#readPieces(word, rows, limit);
    const characters = Array.from(word);
    const isLikeWords = isUnspaced(word);
    const tokens = isLikeWords ? characters.length : Math.ceil(characters.length / CHARACTERS_PER_TOKEN);
    if (tokens > limit) return tokens;
    if (isLikeWords) {
      for (const character of characters) rows.push(this.#bucket(character));
      for (let i = 1; i < characters.length; i++) {
        rows.push(this.#bucket(`${characters[i - 1]}${characters[i]}`));
      }
      return tokens;
    }
    rows.push(this.#bucket(`=${word}`));
    const around = ['<', ...characters, '>'];
    for (let i = 2; i < around.length; i++) rows.push(this.#bucket(`${around[i - 2]}${around[i - 1]}${around[i]}`));
    return tokens;
  }

  /** The longest piece that begins the word, then the longest that continues it, and so on. */
  #readPieces(word: string, rows: number[], limit: number): number {
    let tokens = 0;
    for (let start = 0; start < word.length && tokens <= limit; tokens++) {
      const prefix = start === 0 ? '' : '##';
      let end = Math.min(word.length, start + this.#longest - prefix.length);
      let row: number | undefined;
      for (; end > start; end--) {
        row = this.#rowOf.get(prefix + word.slice(start, end));
        if (row !== undefined) break;
      }
      rows.push(row ?? 0);
      start = Math.max(end, start + 1);
    }
    if (tokens > 1 && tokens <= limit) rows.push(this.#bucket(`=${word}`));
    return tokens;
  }

  #bucket(text: string): number {
    return this.#rowOf.size + (fnv1a(text) % this.#buckets);
  }
}

/** 32-bit FNV-1a over the UTF-8 bytes, unsigned; a lone surrogate counts as U+FFFD. */
export function fnv1a(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}
