import type { TransferProgress } from '../models/downloads/download.ts';
import { TransferRate } from '../models/downloads/transfer-rate.ts';
import { LiveLine, LOG_INTERVAL_MS, type ProgressOutput, progressBar } from './live-line.ts';
import { formatDuration, formatMegabytes } from './output.ts';

/** Minimum time between two updates on a terminal. */
const TERMINAL_INTERVAL_MS = 200;

/** Shows progress, rate and remaining time of a transfer. */
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
    if (!isLast && now - this.#shownMs < (this.isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.#shownMs = now;
    this.replace(progressText(transferred, this.#rate));
  }
}

function progressText({ receivedBytes, totalBytes }: TransferProgress, rate: TransferRate): string {
  const bytesPerSecond = rate.bytesPerSecond();
  const remaining = rate.remainingSeconds({ receivedBytes, totalBytes });
  const speed = bytesPerSecond === null ? [] : [`${formatMegabytes(bytesPerSecond)}/s`];
  if (totalBytes === null) return [formatMegabytes(receivedBytes), ...speed].join('  ');
  const done = totalBytes === 0 ? 1 : receivedBytes / totalBytes;
  const shown = `${progressBar(done)} ${String(Math.floor(done * 100)).padStart(3)} %`;
  const amount = `${formatMegabytes(receivedBytes)} of ${formatMegabytes(totalBytes)}`;
  return [shown, amount, ...speed, ...(remaining === null ? [] : [`${formatDuration(remaining)} left`])].join('  ');
}
