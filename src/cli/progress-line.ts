import type { Transferred } from '../model-store/download.ts';
import { TransferRate } from '../model-store/transfer-rate.ts';
import { clock, megabytes } from './output.ts';

/** A terminal's line changes often enough to look alive. */
const TERMINAL_MS = 200;
/** A log is not filled. */
const LOG_MS = 5_000;
const BAR_WIDTH = 24;

/** Where progress is shown: a terminal's line is written over, elsewhere lines follow each other. */
export interface ProgressOutput {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** Shows how far a transfer is, how fast, and how long it still takes. */
export class ProgressLine {
  readonly #output: ProgressOutput;
  readonly #now: () => number;
  readonly #rate = new TransferRate();
  #shownMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;

  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
  }

  show(transferred: Transferred): void {
    const now = this.#now();
    this.#rate.note(transferred.receivedBytes, now);
    const isLast = transferred.receivedBytes === transferred.totalBytes;
    if (!isLast && now - this.#shownMs < (this.#output.isTTY ? TERMINAL_MS : LOG_MS)) return;
    this.#shownMs = now;
    const text = progressText(transferred, this.#rate);
    // Erased to its end, because the last one may have been longer.
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

function progressText({ receivedBytes, totalBytes }: Transferred, rate: TransferRate): string {
  const perSecond = rate.bytesPerSecond();
  const left = rate.secondsLeft({ receivedBytes, totalBytes });
  const speed = perSecond === null ? [] : [`${megabytes(perSecond)}/s`];
  if (totalBytes === null) return [megabytes(receivedBytes), ...speed].join('  ');
  const done = totalBytes === 0 ? 1 : receivedBytes / totalBytes;
  const filled = Math.floor(done * BAR_WIDTH);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${String(Math.floor(done * 100)).padStart(3)} %`;
  const amount = `${megabytes(receivedBytes)} of ${megabytes(totalBytes)}`;
  return [bar, amount, ...speed, ...(left === null ? [] : [`${clock(left)} left`])].join('  ');
}
