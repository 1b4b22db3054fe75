import { bar, LiveLine, LOG_MS, type ProgressOutput } from './live-line.ts';
import { clock } from './output.ts';

/** How many of a number of things are done. */
export interface Done {
  done: number;
  total: number;
}

/** Shows how many of a number of things are done, and how long the others will take. */
export class StatusLine extends LiveLine {
  readonly #now: () => number;
  #phase: { name: string; startMs: number; startDone: number } | null = null;
  #shown = '';
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    super(output);
    this.#now = now;
  }

  /** `what` begins with the name of the phase, which the time left is reckoned over. */
  show(what: string, { done, total }: Done): void {
    const now = this.#now();
    const name = what.split(' ')[0] ?? '';
    if (this.#phase?.name !== name) {
      this.end();
      this.#phase = { name, startMs: now, startDone: done };
    } else if (!this.isTerminal && done < total && now - this.#shownMs < LOG_MS) return;
    this.#shownMs = now;
    const seconds = secondsLeft(now - this.#phase.startMs, done - this.#phase.startDone, total - done);
    const left = seconds === null ? '' : `  ${clock(seconds)} left`;
    const text = `${bar(total === 0 ? 1 : Math.min(1, done / total))} ${done}/${total} ${what}${left}`;
    if (text === this.#shown) return;
    this.#shown = text;
    this.replace(text);
  }
}

/** Null while nothing says how fast it goes, and when nothing is left. */
function secondsLeft(passedMs: number, done: number, left: number): number | null {
  return done <= 0 || left <= 0 ? null : Math.ceil((passedMs * left) / done / 1000);
}
