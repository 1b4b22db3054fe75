import type { CostBounds } from '../lib/reservation.ts';
import { type CreditAccount, type ExtendedLease, LEASE_MS, type RenewedLease } from './lease-store.ts';

/** A share is not used for this time before its lease expires: clocks and timers are late. */
const EXPIRY_MARGIN_MS = 5_000;

/** A call that waits for the extension of a lease. Receives the granted amount; null: less than its minimum is left. */
interface WaitingCall {
  bounds: CostBounds;
  resolve: (grantedMicros: number | null) => void;
  reject: (error: unknown) => void;
}

/**
 * What this process holds of an account, in memory. Never more than its lease in the database, so any number of processes together spend no
 * more than the account has: the lease grows before the share does, and shrinks after it.
 */
export class CreditShare {
  account: CreditAccount;
  /** What the key had spent in the period when the lease was last extended, and the calls of this process since. */
  spentMicros = 0;
  /** Calls in order of arrival. */
  readonly waiting: WaitingCall[] = [];
  isExtending = false;
  /** Whether the lease was revoked since the extension that runs was sent. Its result may be older. */
  isRevoked = false;
  /** Whether the soft limit of the budget has been logged. */
  hasWarned = false;
  #leasedMicros = 0;
  #reservedMicros = 0;
  /** The most that was reserved, and what was spent, since the last renewal. */
  #peakMicros = 0;
  #recentCostMicros = 0;
  /** Costs settled while the lease is being extended: the statement may not have seen them. */
  #settledMicros = 0;
  /** Monotonic, in milliseconds. */
  #validUntil = 0;

  constructor(account: CreditAccount) {
    this.account = account;
  }

  /** Reserves the most that a call can cost; null when the lease must be extended for it. */
  reserve({ maxMicros }: CostBounds): number | null {
    // Free credits are reserved for the calls that wait for the extension.
    if (this.isExtending || this.#freeMicros() < maxMicros) return null;
    return this.#add(maxMicros);
  }

  /** Reserves what is left, between the bounds of a call; null when it is less than its minimum. */
  reserveRest({ minMicros, maxMicros }: CostBounds): number | null {
    const grantedMicros = Math.min(this.#freeMicros(), maxMicros);
    return grantedMicros < minMicros ? null : this.#add(grantedMicros);
  }

  /** Ends a reservation. `costMicros` is what the ledger has deducted from account and lease. */
  settle(reservedMicros: number, costMicros: number): void {
    this.#reservedMicros -= reservedMicros;
    this.#leasedMicros -= costMicros;
    this.#settledMicros += costMicros;
    this.#recentCostMicros += costMicros;
    this.spentMicros += costMicros;
  }

  /** Waits for the extension of the lease. */
  wait(bounds: CostBounds): Promise<number | null> {
    return new Promise((resolve, reject) => this.waiting.push({ bounds, resolve, reject }));
  }

  /** The lease that all waiting calls need, in micros. Begins an extension. */
  beginExtension(): number {
    this.isRevoked = false;
    this.#settledMicros = 0;
    return this.waiting.reduce((sum, { bounds }) => sum + bounds.maxMicros, this.#reservedMicros);
  }

  /** Takes over an extended lease. `sentAt`: monotonic time in milliseconds before the statement. */
  endExtension({ leasedMicros, spentMicros }: ExtendedLease, sentAt: number): void {
    this.#leasedMicros = leasedMicros - this.#settledMicros;
    this.spentMicros = spentMicros + this.#settledMicros;
    this.#validUntil = sentAt + LEASE_MS - EXPIRY_MARGIN_MS;
  }

  /** Ends the lease: the account has less than before. What calls have reserved must be leased again. */
  revoke(): void {
    this.#leasedMicros = 0;
    this.isRevoked = true;
  }

  /** Gives back what is more than the calls since the last renewal have needed. Returns what to renew. */
  beginRenewal(): RenewedLease {
    const amountMicros = Math.max(0, Math.min(this.#leasedMicros, this.#peakMicros + this.#recentCostMicros));
    this.#peakMicros = this.#reservedMicros;
    this.#recentCostMicros = 0;
    this.#leasedMicros = Math.min(this.#leasedMicros, amountMicros);
    return { account: this.account.id, amountMicros };
  }

  /** Takes over a renewed lease. `renewedMicros` is 0 when the lease has been lost. */
  endRenewal(renewedMicros: number, sentAt: number): void {
    this.#leasedMicros = Math.min(this.#leasedMicros, renewedMicros);
    this.#validUntil = sentAt + LEASE_MS - EXPIRY_MARGIN_MS;
  }

  /** Whether the lease may have expired: the database took too long. What is left of the account is unknown then. */
  isExpired(): boolean {
    return performance.now() >= this.#validUntil;
  }

  /** Whether nothing is held, reserved or waited for. */
  isIdle(): boolean {
    return !this.isExtending && this.#leasedMicros <= 0 && this.#reservedMicros === 0 && this.#peakMicros === 0;
  }

  #freeMicros(): number {
    return this.isExpired() ? 0 : Math.max(0, this.#leasedMicros - this.#reservedMicros);
  }

  #add(micros: number): number {
    this.#reservedMicros += micros;
    this.#peakMicros = Math.max(this.#peakMicros, this.#reservedMicros);
    return micros;
  }
}
