import { LiveLine, LOG_INTERVAL_MS, type ProgressOutput, progressBar } from './live-line.ts';
import { formatDuration } from './output.ts';

/** Number of completed items of a total. */
export interface Progress {
  done: number;
  total: number;
}

/** Shows completed and total items of a phase, and its remaining time. */
export class StatusLine extends LiveLine {
  readonly #now: () => number;
  #phase: { name: string; startMs: number; startDone: number } | null = null;
  #shown = '';
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    super(output);
    this.#now = now;
  }

  /** Updates the line. The first word of `label` is the phase; its rate gives the remaining time. */
  show(label: string, { done, total }: Progress): void {
    const now = this.#now();
    const name = label.split(' ')[0] ?? '';
    if (this.#phase?.name !== name) {
      this.end();
      this.#phase = { name, startMs: now, startDone: done };
    } else if (!this.isTerminal && done < total && now - this.#shownMs < LOG_INTERVAL_MS) return;
    this.#shownMs = now;
    const seconds = remainingSeconds(now - this.#phase.startMs, done - this.#phase.startDone, total - done);
    const remaining = seconds === null ? '' : `  ${formatDuration(seconds)} left`;
    const text = `${progressBar(total === 0 ? 1 : Math.min(1, done / total))} ${done}/${total} ${label}${remaining}`;
    if (text === this.#shown) return;
    this.#shown = text;
    this.replace(text);
  }
}

/** Null while the rate is unknown, and when all items are done. */
function remainingSeconds(elapsedMs: number, done: number, remaining: number): number | null {
  return done <= 0 || remaining <= 0 ? null : Math.ceil((elapsedMs * remaining) / done / 1000);
}
