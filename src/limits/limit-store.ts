import type { BucketState } from './gcra.ts';

/** A bucket of units per minute: requests or tokens of one key or organization. */
export interface Bucket {
  /** Unique among buckets and slots. */
  id: string;
  limit: number;
}

/** Concurrent requests of one key or organization. */
export interface Slots {
  /** Unique among buckets and slots. */
  id: string;
  limit: number;
}

/** What a request needs. */
export interface Demand {
  /** `cost` 0 takes nothing, and makes the state of the bucket current. */
  charges: readonly { bucket: Bucket; cost: number }[];
  /** One slot of each. */
  slots: readonly Slots[];
}

/** Null: everything was taken. Otherwise nothing was taken, because of the bucket or slots `id`. */
export type Rejection = { id: string; waitMs: number } | null;

/** Least wait of a request that finds no free slot. `SlotWaits` estimates the actual one. */
export const SLOT_WAIT_MS = 1_000;

/** Holds buckets and slots. Implementations pass `test/limit-store-conformance.ts`. */
export interface LimitStore {
  /** Takes everything or nothing. Of several causes of a rejection, reports the longest wait. Does not throw. */
  take(demand: Demand): Rejection | Promise<Rejection>;
  /** State of a bucket of an earlier demand. */
  state(bucket: Bucket): BucketState;
  /** Takes units without a check, even into debt; a negative cost returns them. */
  charge(bucket: Bucket, cost: number): void;
  /** Frees one slot of each. */
  release(slots: readonly Slots[]): void;
  /** Frees everything that this process holds for others. */
  close(): Promise<void>;
}
