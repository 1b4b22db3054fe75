import { setTimeout as delay } from 'node:timers/promises';

/** Default of concurrent requests to one host. */
const CONCURRENCY = 4;
/** Longest interval between requests that robots.txt can demand. */
const MAX_INTERVAL_MS = 30_000;

/** Time in milliseconds. */
interface Clock {
  now(): number;
  delay(ms: number, signal: AbortSignal): Promise<void>;
}

const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  delay: (ms, signal) => delay(ms, undefined, { signal }),
};

/** Limits the requests to one host: their rate, their number at once, and pauses that the host asks for. */
export class HostPace {
  #intervalMs: number;
  #concurrency: number;
  #running = 0;
  readonly #clock: Clock;
  /** Time of the next permitted start. */
  #nextStart = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(requestsPerSecond: number, concurrency = CONCURRENCY, clock = SYSTEM_CLOCK) {
    this.#clock = clock;
    this.#concurrency = concurrency;
    this.#intervalMs = 1000 / requestsPerSecond;
  }

  /** Applies the crawl delay of robots.txt: one request at a time. */
  slowDown(crawlDelaySeconds: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, Math.min(crawlDelaySeconds * 1000, MAX_INTERVAL_MS));
    this.#concurrency = 1;
  }

  /** Starts no request for the given time. */
  pause(ms: number): void {
    this.#nextStart = Math.max(this.#nextStart, this.#clock.now() + ms);
  }

  /** Runs a request when the host permits it. Throws the signal's reason. */
  async run<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#running >= this.#concurrency) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      await this.#waitForStart(signal);
      return await request();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #waitForStart(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const now = this.#clock.now();
      if (this.#nextStart <= now) {
        this.#nextStart = now + this.#intervalMs;
        return;
      }
      await this.#clock.delay(this.#nextStart - now, signal);
    }
  }
}
