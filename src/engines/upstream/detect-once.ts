import { rejectOnAbort } from '../../lib/reject-on-abort.ts';

/** A fact about a server that is detected once for all calls. */
export class DetectOnce<T> {
  readonly #detect: () => Promise<T>;
  #detection: Promise<T> | null = null;

  constructor(detect: () => Promise<T>) {
    this.#detect = detect;
  }

  /**
   * Returns the fact. Calls do not cancel the detection; failures are not cached. Throws its error or the signal's
   * reason.
   */
  get(signal: AbortSignal): Promise<T> {
    if (this.#detection === null) {
      this.#detection = this.#detect();
      this.#detection.catch(() => this.forget());
    }
    return rejectOnAbort(this.#detection, signal);
  }

  /** Another kind of server may have taken the address: the next call detects the fact again. */
  forget(): void {
    this.#detection = null;
  }
}
