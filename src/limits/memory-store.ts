import { type BucketState, bucketState, fullAfter, waitMs } from './gcra.ts';
import { type Bucket, type Demand, type LimitStore, type Rejection, SLOT_WAIT_MS, type Slots } from './limit-store.ts';

/** Full buckets are equal to absent ones, and are removed whenever the number of buckets has doubled beyond this. */
const MIN_SWEPT_BUCKETS = 10_000;

/** Buckets and slots in memory: exact for one process, synchronous, lost at a restart. */
export class MemoryLimitStore implements LimitStore {
  /** Time at which the bucket is full. */
  readonly #fullAt = new Map<string, number>();
  /** Slots in use. */
  readonly #used = new Map<string, number>();
  readonly #now: () => number;
  #sweepAt = MIN_SWEPT_BUCKETS;

  /** `now` returns milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  take({ charges, slots }: Demand): Rejection {
    const now = this.#now();
    let rejection: Rejection = null;
    const reject = (id: string, wait: number) => {
      if (wait > (rejection?.waitMs ?? 0)) rejection = { id, waitMs: wait };
    };
    for (const { id, limit } of slots) if ((this.#used.get(id) ?? 0) >= limit) reject(id, SLOT_WAIT_MS);
    for (const { bucket, cost } of charges) {
      reject(bucket.id, waitMs(this.#fullAt.get(bucket.id) ?? now, { limit: bucket.limit, cost }, now));
    }
    if (rejection !== null) return rejection;
    for (const { bucket, cost } of charges) if (cost > 0) this.charge(bucket, cost);
    for (const { id } of slots) this.#used.set(id, (this.#used.get(id) ?? 0) + 1);
    return null;
  }

  state({ id, limit }: Bucket): BucketState {
    const now = this.#now();
    return bucketState(this.#fullAt.get(id) ?? now, limit, now);
  }

  charge({ id, limit }: Bucket, cost: number): void {
    const now = this.#now();
    this.#fullAt.set(id, fullAfter(this.#fullAt.get(id) ?? now, { limit, cost }, now));
    if (this.#fullAt.size > this.#sweepAt) this.#sweep(now);
  }

  release(slots: readonly Slots[]): void {
    for (const { id } of slots) {
      const used = (this.#used.get(id) ?? 0) - 1;
      if (used > 0) this.#used.set(id, used);
      else this.#used.delete(id);
    }
  }

  async close(): Promise<void> {}

  #sweep(now: number): void {
    for (const [id, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(id);
    this.#sweepAt = Math.max(MIN_SWEPT_BUCKETS, 2 * this.#fullAt.size);
  }
}
