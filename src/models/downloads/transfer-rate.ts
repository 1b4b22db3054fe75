/** Sliding window of the rate: early throughput does not predict the remaining time. */
const WINDOW_MS = 10_000;
/** Minimum time between samples. */
const STEP_MS = 500;

/** Estimates throughput and remaining time of a transfer. */
export class TransferRate {
  readonly #samples: { atMs: number; bytes: number }[] = [];

  /** Adds a sample: bytes received so far at a time, in milliseconds of a monotonic clock. */
  addSample(bytes: number, atMs: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs - last.atMs < STEP_MS) return;
    this.#samples.push({ atMs, bytes });
    while (this.#samples.length > 2 && atMs - (this.#samples[0]?.atMs ?? atMs) > WINDOW_MS) this.#samples.shift();
  }

  /** Bytes per second; null before the second sample. */
  bytesPerSecond(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return null;
    return ((last.bytes - first.bytes) * 1_000) / (last.atMs - first.atMs);
  }

  /** Seconds to the end at the current rate; null while unknown. */
  remainingSeconds({ receivedBytes, totalBytes }: { receivedBytes: number; totalBytes: number | null }): number | null {
    const rate = this.bytesPerSecond();
    if (rate === null || rate <= 0 || totalBytes === null) return null;
    return Math.ceil((totalBytes - receivedBytes) / rate);
  }
}
