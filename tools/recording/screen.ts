import { COLUMNS } from './terminal.ts';

/** What a line showed, from a moment on until the next one of the same line. */
export interface LineVersion {
  line: number;
  fromMs: number;
  text: string;
  isPrompt: boolean;
}

/** Versions of a line that follow each other faster are one: nobody sees them. */
const FASTEST_MS = 60;
/** The controls that the commands use: back to the first column, the next line, and erasing to the line's end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const CONTROL = /\r|\n|\u001b\[K/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: likewise.
const OTHER_CONTROL = /[\u0000-\u001f\u007f]/;

/** A terminal without colours, whose lines never wrap and that is never scrolled. It remembers what each line has shown, and when. */
export class Screen {
  readonly versions: LineVersion[] = [];
  #lines: string[] = [''];
  #column = 0;

  /** Lines that were begun. */
  get height(): number {
    return this.#lines.length;
  }

  /** Writes what a program has written at a moment. Throws for what would be shown wrong: other controls, and lines that wrap. */
  write(text: string, atMs: number): void {
    const first = this.#lines.length - 1;
    for (const part of text.split(new RegExp(`(${CONTROL.source})`))) this.#put(part);
    for (let line = first; line < this.#lines.length; line++) this.#note(line, atMs, false);
  }

  /** Writes a line that a person types, and ends it. */
  prompt(text: string, atMs: number): void {
    this.#lines[this.#lines.length - 1] = text;
    this.#note(this.#lines.length - 1, atMs, true);
    this.#put('\n');
  }

  #put(part: string): void {
    const at = this.#lines.length - 1;
    const line = this.#lines[at] ?? '';
    if (part === '\r') this.#column = 0;
    else if (part === '\n') {
      this.#lines.push('');
      this.#column = 0;
    } else if (part === '\u001b[K') this.#lines[at] = line.slice(0, this.#column);
    else if (OTHER_CONTROL.test(part)) throw new Error(`a control that is not drawn: ${JSON.stringify(part)}`);
    else {
      this.#lines[at] =
        line.slice(0, this.#column).padEnd(this.#column) + part + line.slice(this.#column + part.length);
      this.#column += part.length;
    }
  }

  #note(line: number, fromMs: number, isPrompt: boolean): void {
    const text = this.#lines[line] ?? '';
    const last = this.versions.findLast((version) => version.line === line);
    if (text.length > COLUMNS) throw new Error(`a line is longer than ${COLUMNS} characters: ${text}`);
    if (last?.text === text || (last === undefined && text === '')) return;
    if (last !== undefined && fromMs - last.fromMs < FASTEST_MS) last.text = text;
    else this.versions.push({ line, fromMs, text, isPrompt });
  }
}
