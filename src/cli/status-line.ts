import { clock } from './output.ts';
import type { ProgressOutput } from './progress-line.ts';

/** A log is not filled. */
const LOG_MS = 5_000;
const BAR_WIDTH = 24;

/** How many of a number of things are done. */
export interface Done {
  done: number;
  total: number;
}

/** Shows how many of a number of things are done, and how long the others will take. */
export class StatusLine {
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  #phase: { name: string; startMs: number; startDone: number } | null = null;
  #shown = '';
  #shownMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;

  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
  }

  /** `what` begins with the name of the phase, which the time left is reckoned over. */
  show(what: string, { done, total }: Done): void {
    const now = this.#now();
    const name = what.split(' ')[0] ?? '';
    if (this.#phase?.name !== name) {
      this.end();
      this.#phase = { name, startMs: now, startDone: done };
    } else if (!this.#output.isTTY && done < total && now - this.#shownMs < LOG_MS) return;
    this.#shownMs = now;
    const filled = Math.floor(total === 0 ? BAR_WIDTH : Math.min(1, done / total) * BAR_WIDTH);
    const seconds = secondsLeft(now - this.#phase.startMs, done - this.#phase.startDone, total - done);
    const left = seconds === null ? '' : `  ${clock(seconds)} left`;
    const text = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done}/${total} ${what}${left}`;
    if (text === this.#shown) return;
    this.#shown = text;
    this.#output.write(this.#output.isTTY ? `\r${text.slice(0, (this.#output.columns || 80) - 1)}\x1b[K` : `${text}\n`);
    this.#isOpen = this.#output.isTTY ?? false;
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

/** Null while nothing says how fast it goes, and when nothing is left. */
function secondsLeft(passedMs: number, done: number, left: number): number | null {
  return done <= 0 || left <= 0 ? null : Math.ceil((passedMs * left) / done / 1000);
}
