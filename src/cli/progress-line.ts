import type { TransferProgress } from '../models/downloads/download.ts';
import { TransferRate } from '../models/downloads/transfer-rate.ts';
import { bar, LiveLine, LOG_MS, type ProgressOutput } from './live-line.ts';
import { clock, megabytes } from './output.ts';

/** A terminal's line changes often enough to look alive. */
const TERMINAL_MS = 200;

/** Shows how far a transfer is, how fast, and how long it still takes. */
export class ProgressLine extends LiveLine {
  readonly #now: () => number;
  readonly #rate = new TransferRate();
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(output: ProgressOutput, now: () => number = () => performance.now()) {
    super(output);
    this.#now = now;
  }

  show(transferred: TransferProgress): void {
    const now = this.#now();
    this.#rate.addSample(transferred.receivedBytes, now);
    const isLast = transferred.receivedBytes === transferred.totalBytes;
    if (!isLast && now - this.#shownMs < (this.isTerminal ? TERMINAL_MS : LOG_MS)) return;
    this.#shownMs = now;
    this.replace(progressText(transferred, this.#rate));
  }
}

function progressText({ receivedBytes, totalBytes }: TransferProgress, rate: TransferRate): string {
  const perSecond = rate.bytesPerSecond();
  const left = rate.remainingSeconds({ receivedBytes, totalBytes });
  const speed = perSecond === null ? [] : [`${megabytes(perSecond)}/s`];
  if (totalBytes === null) return [megabytes(receivedBytes), ...speed].join('  ');
  const done = totalBytes === 0 ? 1 : receivedBytes / totalBytes;
  const shown = `${bar(done)} ${String(Math.floor(done * 100)).padStart(3)} %`;
  const amount = `${megabytes(receivedBytes)} of ${megabytes(totalBytes)}`;
  return [shown, amount, ...speed, ...(left === null ? [] : [`${clock(left)} left`])].join('  ');
}
