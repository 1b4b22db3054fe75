import { eachWord, isUnspaced } from './words.ts';

/** Characters per token of a word that is read as hashed n-grams. */
const CHARACTERS_PER_TOKEN = 4;
const ASCII_WORD = /^[a-z0-9]+$/;

/** The rows of a text. */
export interface TokenizedText {
  /** Rows of the embedding table, in text order; incomplete for a text over the limit. */
  rows: number[];
  /** At least 1. For a text over the limit, any number above the limit. */
  tokens: number;
}

/** Maps texts to rows of the embedding table, by the rules of the model card. */
export class Tokenizer {
  readonly #rowOf: ReadonlyMap<string, number>;
  readonly #maxPieceLength: number;
  readonly #buckets: number;

  /** `pieces[row]` is the word piece of a row. `buckets` rows of hashed n-grams follow. */
  constructor(pieces: readonly string[], buckets: number) {
    this.#rowOf = new Map(pieces.map((piece, row) => [piece, row]));
    this.#maxPieceLength = Math.max(...pieces.map((piece) => piece.length));
    this.#buckets = buckets;
    for (const sign of 'abcdefghijklmnopqrstuvwxyz0123456789') {
      if (this.#rowOf.has(sign) && this.#rowOf.has(`##${sign}`)) continue;
      throw new Error(`the embedding model has no piece for '${sign}'`);
    }
  }

  /** Tokenizes a text. Stops once there are more than `limit` tokens. */
  tokenize(text: string, limit = Number.POSITIVE_INFINITY): TokenizedText {
    const rows: number[] = [];
    let tokens = 0;
    eachWord(text, (word) => {
      tokens += this.#appendWord(word, rows, limit - tokens);
      return tokens <= limit;
    });
    return { rows, tokens: Math.max(1, tokens) };
  }

  /** Appends the rows of a word. Returns its token count, or a number above `limit`. */
  #appendWord(word: string, rows: number[], limit: number): number {
    const row = this.#rowOf.get(word);
    if (row !== undefined) {
      rows.push(row);
      return 1;
    }
    if (ASCII_WORD.test(word)) return this.#appendPieces(word, rows, limit);
    const characters = Array.from(word);
    const isUnspacedRun = isUnspaced(word);
    const tokens = isUnspacedRun ? characters.length : Math.ceil(characters.length / CHARACTERS_PER_TOKEN);
    if (tokens > limit) return tokens;
    if (isUnspacedRun) {
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

  /** Greedy longest-match-first word pieces (WordPiece). */
  #appendPieces(word: string, rows: number[], limit: number): number {
    let tokens = 0;
    for (let start = 0; start < word.length && tokens <= limit; tokens++) {
      const prefix = start === 0 ? '' : '##';
      let end = Math.min(word.length, start + this.#maxPieceLength - prefix.length);
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

/** Unsigned 32-bit FNV-1a hash of the UTF-8 bytes; a lone surrogate counts as U+FFFD. */
export function fnv1a(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}
