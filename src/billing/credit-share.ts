import type { ProcessLease } from '../leases/process-lease.ts';
import type { CostBounds } from '../lib/reservation.ts';
import type { CreditAccount, ExtendedLease } from './lease-store.ts';

/** A call that waits for the extension of a lease. Receives the granted amount; null: less than its minimum is left. */
interface WaitingCall {
  bounds: CostBounds;
  resolve: (grantedMicros: number | null) => void;
  reject: (error: unknown) => void;
}

/**
 * What this process holds of an account, in memory. Never more than its lease in the database, so any number of
 * processes together spend no more than the account has: the lease grows before the share does, and shrinks after it.
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
  /** Maximum reserved credits and total cost since unused credits were last returned. */
  #peakMicros = 0;
  #recentCostMicros = 0;
  /** Costs settled while the lease is being extended: the statement may not have seen them. */
  #settledMicros = 0;
  readonly #lease: Pick<ProcessLease, 'isHeld'>;

  constructor(account: CreditAccount, lease: Pick<ProcessLease, 'isHeld'>) {
    this.account = account;
    this.#lease = lease;
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

  /** Ends a reservation. `costMicros` is the amount that the ledger has deducted from account and lease. */
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

  /** The lease that running calls and `calls` need, in micros. Begins an extension. */
  beginExtension(calls: readonly WaitingCall[]): number {
    this.isRevoked = false;
    this.#settledMicros = 0;
    return calls.reduce((sum, { bounds }) => sum + bounds.maxMicros, this.#reservedMicros);
  }

  /** Takes over an extended lease. */
  endExtension({ leasedMicros, spentMicros }: ExtendedLease): void {
    this.#leasedMicros = leasedMicros - this.#settledMicros;
    this.spentMicros = spentMicros + this.#settledMicros;
  }

  /** Ends the lease: the account has less than before. What calls have reserved must be leased again. */
  revoke(): void {
    this.#leasedMicros = 0;
    this.isRevoked = true;
  }

  /** Gives back what recent calls did not need. Returns the remaining lease; null: all of it. */
  giveBack(): number | null {
    const keptMicros = this.#peakMicros + this.#recentCostMicros;
    this.#peakMicros = this.#reservedMicros;
    this.#recentCostMicros = 0;
    // A used-up lease is ended.
    if (this.#leasedMicros > 0 && keptMicros >= this.#leasedMicros) return null;
    this.#leasedMicros = Math.max(0, Math.min(this.#leasedMicros, keptMicros));
    return this.#leasedMicros;
  }

  /** Uses no more than the lease in the database: less after a lost result of a statement, 0 after a lost lease. */
  limit(leasedMicros: number): void {
    this.#leasedMicros = Math.min(this.#leasedMicros, leasedMicros);
  }

  /** Whether nothing is held, reserved or waited for. */
  isIdle(): boolean {
    return !this.isExtending && this.#leasedMicros <= 0 && this.#reservedMicros === 0 && this.#peakMicros === 0;
  }

  #freeMicros(): number {
    return this.#lease.isHeld() ? Math.max(0, this.#leasedMicros - this.#reservedMicros) : 0;
  }

  #add(micros: number): number {
    this.#reservedMicros += micros;
    this.#peakMicros = Math.max(this.#peakMicros, this.#reservedMicros);
    return micros;
  }
}
