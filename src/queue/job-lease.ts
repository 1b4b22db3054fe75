/** Interval of the check of the lease's age, which detects a suspension of the process or the machine. */
const CHECK_MS = 1_000;
/** A third of the lease: two renewals may fail. */
const RENEWALS_PER_LEASE = 3;
/** Share of the lease after which the holder stops: it must stop before another process may start. */
const HOLDER_SHARE = 0.8;

/**
 * The right to run a job: other processes start the job anew when it was not renewed for the time of the lease. The holder gives up first,
 * after a suspension, or while the database does not answer.
 */
export class JobLease {
  readonly #holdMs: number;
  readonly #renewMs: number;
  readonly #renew: () => Promise<boolean>;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #renewedAtMs = performance.now();
  #triedAtMs = performance.now();

  /** `renew` returns false when the lease is lost, and throws when it could not be renewed. */
  constructor(seconds: number, renew: () => Promise<boolean>) {
    this.#holdMs = seconds * 1000 * HOLDER_SHARE;
    this.#renewMs = (seconds * 1000) / RENEWALS_PER_LEASE;
    this.#renew = renew;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  /** Aborts when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Stops renewing. */
  end(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    if (now - this.#renewedAtMs >= this.#holdMs) {
      this.#lose();
    } else if (now - this.#triedAtMs >= this.#renewMs) {
      this.#triedAtMs = now;
      this.#renew().then(
        (isHeld) => {
          if (isHeld) this.#renewedAtMs = now;
          else this.#lose();
        },
        () => {},
      );
    }
  }

  #lose(): void {
    this.end();
    this.#lost.abort(new Error('the lease of the job was lost'));
  }
}
