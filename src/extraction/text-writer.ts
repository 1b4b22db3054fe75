import { collapseWhitespace } from '../lib/clean-text.ts';
import type { Block, BlockKind, ExtractedText } from './extracted-document.ts';
import { MAX_TEXT_CHARACTERS, tooLarge } from './limits.ts';

/** Builds a document's text block by block. Blocks are separated by an empty line, items of a list by a line break. */
export class TextWriter {
  readonly #pieces: string[] = [];
  readonly #blocks: Block[] = [];
  #length = 0;

  /** Appends a block; blank text is ignored. Throws `too_large` above the maximum text length. */
  write(kind: BlockKind, text: string, place: Omit<Block, 'kind' | 'start' | 'end'> = {}): void {
    const trimmed = trimBlankLines(text);
    if (trimmed === '') return;
    const previous = this.#blocks.at(-1);
    if (previous !== undefined) this.#append(previous.kind === 'list-item' && kind === 'list-item' ? '\n' : '\n\n');
    const start = this.#length;
    this.#append(trimmed);
    this.#blocks.push({ kind, start, end: this.#length, ...place });
  }

  /** Returns everything that was written. */
  finish(): ExtractedText {
    return { text: this.#pieces.join(''), blocks: this.#blocks };
  }

  /** Characters written so far. */
  get length(): number {
    return this.#length;
  }

  #append(piece: string): void {
    this.#length += piece.length;
    checkTextLength(this.#length);
    this.#pieces.push(piece);
  }
}

/** Throws `too_large` when a document's text has more characters than allowed. */
export function checkTextLength(characters: number): void {
  if (characters > MAX_TEXT_CHARACTERS) {
    throw tooLarge(`its text has more than ${MAX_TEXT_CHARACTERS.toLocaleString('en')} characters`);
  }
}

/** Removes leading and trailing blank lines and trailing white space; keeps the indentation of the first line. */
function trimBlankLines(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
}

/** Formats a table row as one line: cells separated by ` | `. */
export function formatTableRow(cells: readonly string[]): string {
  return cells.map(collapseWhitespace).join(' | ').trim();
}
