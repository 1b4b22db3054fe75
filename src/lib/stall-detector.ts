/** Interval of the timer that shows that the process runs. */
const TICK_MS = 100;

/** Detects that the process did not run for a time, as after SIGSTOP. Call `stop` when it is not needed any more. */
export class StallDetector {
  readonly #thresholdMs: number;
  readonly #timer: NodeJS.Timeout;
  #lastTickMs = performance.now();
  #stalled = false;

  constructor(thresholdMs: number) {
    this.#thresholdMs = thresholdMs;
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Returns whether the process stalled for longer than the threshold since the last call. */
  take(): boolean {
    // Callbacks of sockets may run before the timer after a stall.
    this.#tick();
    const stalled = this.#stalled;
    this.#stalled = false;
    return stalled;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    if (now - this.#lastTickMs > TICK_MS + this.#thresholdMs) this.#stalled = true;
    this.#lastTickMs = now;
  }
}
