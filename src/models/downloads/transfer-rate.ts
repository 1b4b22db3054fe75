/** The rate is that of the last seconds: what it was at the start says nothing of when it ends. */
const WINDOW_MS = 10_000;
/** Time between the points that are kept. */
const STEP_MS = 500;

/** Tells from the bytes so far how fast they come. */
export class TransferRate {
  readonly #points: { atMs: number; bytes: number }[] = [];

  /** Notes how many bytes there are at a time, in milliseconds of any clock that does not go back. */
  note(bytes: number, atMs: number): void {
    const last = this.#points.at(-1);
    if (last !== undefined && atMs - last.atMs < STEP_MS) return;
    this.#points.push({ atMs, bytes });
    while (this.#points.length > 2 && atMs - (this.#points[0]?.atMs ?? atMs) > WINDOW_MS) this.#points.shift();
  }

  /** Bytes a second; null until there is something to tell it from. */
  bytesPerSecond(): number | null {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return null;
    return ((last.bytes - first.bytes) * 1_000) / (last.atMs - first.atMs);
  }

  /** Seconds until all bytes are there, at this rate; null while it cannot be told. */
  remainingSeconds({ receivedBytes, totalBytes }: { receivedBytes: number; totalBytes: number | null }): number | null {
    const rate = this.bytesPerSecond();
    if (rate === null || rate <= 0 || totalBytes === null) return null;
    return Math.ceil((totalBytes - receivedBytes) / rate);
  }
}
