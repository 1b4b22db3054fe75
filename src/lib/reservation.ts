import type { Call } from './caller.ts';

/** Bounds of the cost of a call, in micros. */
export interface CostBounds {
  /** The least amount that the call is worth starting with. */
  minMicros: number;
  /** The most that the call can cost. */
  maxMicros: number;
}

/** What the cost of a call is deducted from. */
export interface Charge {
  /** The process that holds the reservation. */
  processId: string;
  /** Whether the organization has a balance. */
  hasBalance: boolean;
  /** Period of the key's budget, such as `2026-03`; null without a budget. */
  budgetPeriod: string | null;
  /** Enforced budgets that the call is charged to, with their period. Absent if there are none. */
  budgets?: { id: string; period: string }[];
}

/** Credits that one call holds until its usage is recorded. */
export interface Reservation {
  /** Between `minMicros` and `maxMicros`. */
  readonly grantedMicros: number;
  readonly charge: Charge;
  /** Ends the reservation once the cost has been deducted. Later calls do nothing. */
  settle(costMicros: number): void;
}

/**
 * Reserves credits for a call. Null: nothing limits it, and `bounds` is not called. Not a promise unless the database
 * is asked. Throws 402 `insufficient_credits` when less than `minMicros` is left.
 */
export type Reserve = (call: Call, bounds: () => CostBounds) => Reservation | null | Promise<Reservation | null>;
