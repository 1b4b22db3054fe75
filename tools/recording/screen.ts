import { COLUMNS } from './terminal.ts';

/** Content of a line from a moment until its next version. */
export interface LineVersion {
  line: number;
  fromMs: number;
  text: string;
  isPrompt: boolean;
}

/** Versions of a line that follow each other faster are merged. */
const FASTEST_MS = 60;
/** Supported controls: carriage return, line feed, and erase to end of line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const CONTROL = /\r|\n|\u001b\[K/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: likewise.
const OTHER_CONTROL = /[\u0000-\u001f\u007f]/;

/** A terminal emulator without colours, wrapping and scrolling, which records the versions of each line. */
export class Screen {
  readonly versions: LineVersion[] = [];
  #lines: string[] = [''];
  #column = 0;

  /** Lines so far. */
  get height(): number {
    return this.#lines.length;
  }

  /** Writes output at a moment. Throws for unsupported controls and long words. */
  write(text: string, atMs: number): void {
    const first = this.#lines.length - 1;
    for (const part of text.split(new RegExp(`(${CONTROL.source})`))) this.#put(part);
    for (let line = first; line < this.#lines.length; line++) this.#note(line, atMs, false);
  }

  /** Writes a typed line. */
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
      this.#wrap();
    }
  }

  /** Breaks the last line at spaces. */
  #wrap(): void {
    for (let at = this.#lines.length - 1; ; at++) {
      const line = this.#lines[at] ?? '';
      const space = line.length > COLUMNS ? line.lastIndexOf(' ', COLUMNS) : -1;
      if (space <= 0) return;
      this.#lines[at] = line.slice(0, space);
      this.#lines.push(line.slice(space + 1));
      this.#column = line.length - space - 1;
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
