import { inOneLine } from '../../lib/clean-text.ts';
import { MAX_TEXT_CHARACTERS, tooLarge } from './bounds.ts';
import type { Block, BlockKind, ExtractedText } from './extracted-text.ts';

/** Puts a document's text together from its parts. Between them lies an empty line, between items of a list a line's end. */
export class TextWriter {
  readonly #pieces: string[] = [];
  readonly #blocks: Block[] = [];
  #length = 0;

  /** Adds a part; a blank one is left out. Throws `too_large` when the text gets longer than documents may be. */
  write(kind: BlockKind, text: string, place: { level?: number; page?: number } = {}): void {
    const trimmed = trimBlankLines(text);
    if (trimmed === '') return;
    const previous = this.#blocks.at(-1);
    if (previous !== undefined) this.#add(previous.kind === 'list-item' && kind === 'list-item' ? '\n' : '\n\n');
    const start = this.#length;
    this.#add(trimmed);
    this.#blocks.push({ kind, start, end: this.#length, ...place });
  }

  /** What was written. */
  finish(): ExtractedText {
    return { text: this.#pieces.join(''), blocks: this.#blocks };
  }

  /** Characters so far. */
  get length(): number {
    return this.#length;
  }

  #add(piece: string): void {
    this.#length += piece.length;
    requireLength(this.#length);
    this.#pieces.push(piece);
  }
}

/** Throws `too_large` for more characters than a document's text may have. */
export function requireLength(characters: number): void {
  if (characters > MAX_TEXT_CHARACTERS) {
    throw tooLarge(`its text has more than ${MAX_TEXT_CHARACTERS.toLocaleString('en')} characters`);
  }
}

/** Without empty lines at its ends and white space behind it; the first line keeps its indentation. */
function trimBlankLines(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
}

/** A row of a table as a line. */
export function tableLine(cells: readonly string[]): string {
  return cells.map(inOneLine).join(' | ').trim();
}
