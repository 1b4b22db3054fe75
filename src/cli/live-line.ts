/** Width of a terminal that reports none. */
const DEFAULT_COLUMNS = 80;
const BAR_WIDTH = 24;
/** Minimum time between two progress lines when the output is not a terminal. */
export const LOG_INTERVAL_MS = 5_000;

/** Destination of progress output: one line that is overwritten on a terminal, otherwise one line per update. */
export interface ProgressOutput {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** A progress line that is updated in place. */
export class LiveLine {
  /** Whether the output is a terminal, so that an update overwrites the line. */
  readonly isTerminal: boolean;
  readonly #output: ProgressOutput;
  #isOpen = false;

  constructor(output: ProgressOutput) {
    this.#output = output;
    this.isTerminal = output.isTTY ?? false;
  }

  /** Replaces the shown text. */
  replace(text: string): void {
    // Erases to the end of the line: the replaced text may be longer.
    const line = `\r${text.slice(0, (this.#output.columns || DEFAULT_COLUMNS) - 1)}\x1b[K`;
    this.#output.write(this.isTerminal ? line : `${text}\n`);
    this.#isOpen = this.isTerminal;
  }

  /** Prints text on a line of its own. */
  printLine(text: string): void {
    this.end();
    this.#output.write(`${text}\n`);
  }

  /** Ends the line; its text stays visible. Idempotent. */
  end(): void {
    if (this.#isOpen) this.#output.write('\n');
    this.#isOpen = false;
  }
}

/** Renders a progress bar. `share` is 0 to 1. */
export function progressBar(share: number): string {
  const filled = Math.floor(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]`;
}
