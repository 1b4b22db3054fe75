import { type BucketState, bucketState, fullAfter, WINDOW_MS, waitMs } from './gcra.ts';
import type { Bucket, Slots } from './limit-store.ts';

/** Time for which a process trusts its view of shared buckets and slots, and keeps unused shares. */
export const SHARE_MS = 1_000;
/** A process takes the refill of this time ahead, so that only small limits cost a statement per request. */
const PREFETCH_MS = 1_000;
/** Part of all slots that a process takes ahead. */
const PREFETCHED_SLOTS = 1 / 32;

/** A process's share of one bucket: units that it has taken from the database, and may use without asking again. */
export class BucketShare {
  readonly id: string;
  limit: number;
  #credit = 0;
  /** When the bucket in the database is full, by the clock of this process. */
  #fullAt = 0;
  #exchangedAt = Number.NEGATIVE_INFINITY;
  /** Units in an exchange in progress. */
  #returning = 0;

  constructor({ id, limit }: Bucket) {
    this.id = id;
    this.limit = limit;
  }

  isCurrent(now: number): boolean {
    return now - this.#exchangedAt < SHARE_MS;
  }

  /** Whether units are held that nothing has asked for lately. */
  isIdle(now: number): boolean {
    return this.#credit !== 0 && !this.isCurrent(now);
  }

  /** Whether the share is as good as a new one. */
  isForgettable(now: number): boolean {
    return this.#credit === 0 && now - this.#exchangedAt > WINDOW_MS;
  }

  /** Units held. Negative: units used that the database does not know of yet. */
  get credit(): number {
    return this.#credit;
  }

  /** Milliseconds until `cost` units can be taken, of the bucket in the database and the credit together. */
  wait(cost: number, now: number): number {
    return waitMs(this.#effectiveFullAt(now), { limit: this.limit, cost }, now);
  }

  state(now: number): BucketState {
    return bucketState(this.#effectiveFullAt(now), this.limit, now);
  }

  /** Uses units, into debt if necessary; a negative cost returns them. */
  use(cost: number): void {
    this.#credit -= cost;
  }

  /** Uses units while there is no database to charge them to. */
  useOffline(cost: number, now: number): void {
    const missing = Math.max(0, cost - this.#credit);
    this.#credit = Math.max(0, this.#credit - cost);
    this.#fullAt = fullAfter(this.#fullAt, { limit: this.limit, cost: missing }, now);
  }

  /** The part of an exchange that returns the credit and takes what `costs` need. */
  ask(costs: readonly number[]): { id: string; per_minute: number; returned: number; least: number; most: number } {
    this.#returning = this.#credit;
    this.#credit = 0;
    const needed = costs.filter((cost) => cost > 0 && cost <= this.limit);
    const prefetched = costs.length === 0 ? 0 : Math.floor((this.limit * PREFETCH_MS) / WINDOW_MS);
    return {
      id: this.id,
      per_minute: this.limit,
      returned: this.#returning,
      least: needed.length === 0 ? 0 : Math.min(...needed),
      most: Math.min(
        this.limit,
        needed.reduce((sum, cost) => sum + cost, prefetched),
      ),
    };
  }

  /** The exchange has granted units and left the bucket `debtMs` short of full. */
  granted(units: number, debtMs: number, now: number): void {
    this.#returning = 0;
    this.#credit += units;
    this.#fullAt = now + debtMs;
    this.#exchangedAt = now;
  }

  /** The exchange failed. */
  failed(now: number): void {
    const debt = -this.#returning - this.#credit;
    this.#returning = 0;
    this.#credit = 0;
    this.useOffline(debt, now);
  }

  #effectiveFullAt(now: number): number {
    const units = this.#credit + this.#returning;
    return Math.max(this.#fullAt, units < 0 ? now : 0) - (units * WINDOW_MS) / this.limit;
  }
}

/** A process's share of the slots of one key or organization. */
export class SlotShare {
  readonly id: string;
  limit: number;
  /** Slots of requests in progress. */
  used = 0;
  held = 0;
  #exchangedAt = Number.NEGATIVE_INFINITY;
  #isShort = false;

  constructor({ id, limit }: Slots) {
    this.id = id;
    this.limit = limit;
  }

  isCurrent(now: number): boolean {
    return now - this.#exchangedAt < SHARE_MS;
  }

  /** Whether slots are held that nothing uses, or used that others believe to be free. */
  isIdle(now: number): boolean {
    return this.held !== this.used && !this.isCurrent(now);
  }

  /** The process has lost its lease: others may have taken over its slots. */
  lose(): void {
    this.held = 0;
    this.#exchangedAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether the share is as good as a new one. */
  isForgettable(now: number): boolean {
    return this.held + this.used === 0 && now - this.#exchangedAt > WINDOW_MS;
  }

  /** Whether a slot is free: undefined when only the database can tell. */
  isFree(now: number): boolean | undefined {
    if (!this.isCurrent(now)) return undefined;
    if (this.used < this.held) return true;
    return this.#isShort ? false : undefined;
  }

  /** The part of an exchange that keeps the slots in use and takes `more`. */
  ask(more: number): { id: string; slots: number; used: number; wanted: number } {
    const ahead = more === 0 ? 0 : Math.floor(this.limit * PREFETCHED_SLOTS);
    return { id: this.id, slots: this.limit, used: this.used, wanted: Math.min(this.limit, this.used + more + ahead) };
  }

  granted(held: number, wanted: number, now: number): void {
    this.held = held;
    this.#isShort = held < wanted || wanted === this.limit;
    this.#exchangedAt = now;
  }
}
