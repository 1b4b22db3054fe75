import type { ProgressOutput } from './progress-line.ts';

/** A log is not filled. */
const LOG_MS = 5_000;
const BAR_WIDTH = 24;

/** Shows how many of a number of things are done, and how long the others will take. */
export class StatusLine {
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  #phase: { name: string; startMs: number } | null = null;
  #shownMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;

  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
  }

  /** `what` begins with the name of the phase, which the time left is reckoned over. */
  show(what: string, { done, total }: { done: number; total: number }): void {
    const now = this.#now();
    const name = what.split(' ')[0] ?? '';
    if (this.#phase?.name !== name) this.#phase = { name, startMs: now };
    if (!this.#output.isTTY && done < total && now - this.#shownMs < LOG_MS) return;
    this.#shownMs = now;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const filled = Math.floor(share * BAR_WIDTH);
    const left = share === 0 || share === 1 ? '' : `  ${secondsLeft(now - this.#phase.startMs, share)} s left`;
    const text = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done}/${total} ${what}${left}`;
    this.#output.write(this.#output.isTTY ? `\r${text.slice(0, (this.#output.columns || 80) - 1)}\x1b[K` : `${text}\n`);
    this.#isOpen = this.#output.isTTY ?? false;
  }

  /** Leaves the line as it is. May be called twice. */
  end(): void {
    if (this.#isOpen) this.#output.write('\n');
    this.#isOpen = false;
  }
}

function secondsLeft(passedMs: number, share: number): number {
  return Math.ceil((passedMs * (1 - share)) / share / 1000);
}
