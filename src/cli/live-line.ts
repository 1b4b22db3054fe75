/** A terminal that does not say how wide it is. */
const USUAL_COLUMNS = 80;
const BAR_WIDTH = 24;
/** Milliseconds between two lines where they follow each other: a log is not filled. */
export const LOG_MS = 5_000;

/** Where progress is shown: a terminal's line is written over, elsewhere lines follow each other. */
export interface ProgressOutput {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** A line that changes. */
export class LiveLine {
  /** Whether the output is a terminal, where a change costs no line. */
  readonly isTerminal: boolean;
  readonly #output: ProgressOutput;
  #isOpen = false;

  constructor(output: ProgressOutput) {
    this.#output = output;
    this.isTerminal = output.isTTY ?? false;
  }

  /** Shows the text in place of what was shown last. */
  replace(text: string): void {
    // Erased to its end, because the last one may have been longer.
    const line = `\r${text.slice(0, (this.#output.columns || USUAL_COLUMNS) - 1)}\x1b[K`;
    this.#output.write(this.isTerminal ? line : `${text}\n`);
    this.#isOpen = this.isTerminal;
  }

  /** Says something in a line of its own. */
  say(text: string): void {
    this.end();
    this.#output.write(`${text}\n`);
  }

  /** Leaves the line as it is. May be called twice. */
  end(): void {
    if (this.#isOpen) this.#output.write('\n');
    this.#isOpen = false;
  }
}

/** A bar of which the share, 0 to 1, is filled. */
export function bar(share: number): string {
  const filled = Math.floor(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]`;
}
