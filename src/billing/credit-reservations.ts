import type { Database } from '../db/db.ts';
import { databaseUnavailable, insufficientCredits } from '../errors.ts';
import type { Call, KeyBudget } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { CostBounds, Reservation } from '../lib/reservation.ts';
import { CreditShare } from './credit-share.ts';
import { budgetPeriod } from './credits.ts';
import {
  announceProcess,
  type CreditAccount,
  deleteEndedProcesses,
  deleteLeases,
  deleteRevokedLease,
  extendLease,
  renewLeases,
} from './lease-store.ts';
import { type SpendingLimits, SpendingLimitsCache } from './spending-limits.ts';

/** Interval of renewals: unused credits return to the other processes after at most twice this time. */
const RENEWAL_MS = 1_000;
/** Leases of one renewal statement. */
const MAX_RENEWED = 1_000;
/** Response header of calls of a key beyond the soft limit of its budget. */
const WARNING_HEADER = 'x-budget-warning';

/**
 * Reserves credits before calls, correct across processes. Each process leases a share of a balance or budget and reserves from it in memory;
 * the database is asked only when the share is used up. The ledger deducts costs from account and lease in the statement of the usage records.
 */
export class CreditReservations {
  readonly processId = newId('process');
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #limits: SpendingLimitsCache;
  readonly #shares = new Map<string, CreditShare>();
  #renewing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #unfollow: () => void = () => {};

  /** `now` returns milliseconds since 1970. */
  constructor({ db, logger, now }: { db: Database; logger: Logger; now: () => number }) {
    this.#db = db;
    this.#logger = logger;
    this.#now = now;
    this.#limits = new SpendingLimitsCache(db, now);
  }

  /** Starts renewals. Ends the leases of a predecessor that crashed, where no other process can use the database. */
  async start(): Promise<void> {
    if (this.#db.isExclusive) await deleteLeases(this.#db.sql, null);
    else await deleteEndedProcesses(this.#db.sql);
    this.#unfollow = this.#db.listen('quire_api_keys', {
      onNotification: (id) => this.evictLimits(id),
      onGap: () => this.#limits.evict(),
    });
    await this.renew();
    this.#timer = setInterval(() => void this.renew(), RENEWAL_MS).unref();
  }

  /** Ends all leases of this process. Call it after the last usage record. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#unfollow();
    await this.#renewing;
    await deleteLeases(this.#db.sql, this.processId);
    this.#shares.clear();
  }

  /** Reads the limits of a key, or of the keys of an organization, again, and uses no more of leases that may have been revoked. */
  evictLimits(id: string): void {
    this.#limits.evict(id);
    for (const share of this.#shares.values()) {
      if (share.account.id !== id && !share.account.id.startsWith(`${id}/`)) continue;
      share.revoke();
      // The new lease covers the calls in progress, and replaces the revoked one.
      if (!share.isExtending) void this.#extend(share);
    }
    if (!this.#shares.has(id)) void this.#acknowledge(id);
  }

  /** A process without a share of the account has only to read its limits again. Never rejects: the next renewal tries again. */
  async #acknowledge(id: string): Promise<void> {
    await deleteRevokedLease(this.#db.sql, this.processId, id).catch((error: unknown) =>
      this.#logger.warn({ error: describeError(error) }, 'change of a limit not acknowledged'),
    );
  }

  /** Announces this process where others exist, and reads limits again of whose change it was not notified. Never rejects. */
  async #announce(): Promise<void> {
    if (this.#db.isExclusive) return;
    try {
      const revoked = await announceProcess(this.#db.sql, this.processId);
      for (const account of revoked) if (!this.#shares.has(account)) this.evictLimits(account);
    } catch (error) {
      this.#logger.warn({ error: describeError(error) }, 'process not announced');
    }
  }

  /** Reserves credits for a call: see `Reserve`. */
  reserve(call: Call, bounds: () => CostBounds): Reservation | null | Promise<Reservation | null> {
    const limits = this.#limits.get(call.caller);
    if (limits instanceof Promise) return limits.then((read) => this.#reserveWithin(read, call, bounds));
    return this.#reserveWithin(limits, call, bounds);
  }

  #reserveWithin(
    { hasBalance, budget }: SpendingLimits,
    call: Call,
    toBounds: () => CostBounds,
  ): Reservation | null | Promise<Reservation | null> {
    if (!hasBalance && budget === null) return null;
    const bounds = toBounds();
    if (bounds.maxMicros === 0) return null;
    const request = { call, bounds, hasBalance, budget };
    const balance = hasBalance ? this.#balanceShare(call) : null;
    const budgeted = budget === null ? null : this.#budgetShare(call, budget);
    const fromBalance = balance?.reserve(bounds) ?? null;
    const fromBudget = budgeted?.reserve(bounds) ?? null;
    const isComplete = (balance === null || fromBalance !== null) && (budgeted === null || fromBudget !== null);
    if (isComplete) return this.#reservation(request, bounds.maxMicros, balance, budgeted);
    if (fromBalance !== null) balance?.settle(fromBalance, 0);
    if (fromBudget !== null) budgeted?.settle(fromBudget, 0);
    return this.#reserveExtending(request);
  }

  /** Takes the share of the balance after the one of the budget is granted: an unused share does not outlive a renewal. */
  async #reserveExtending(request: ReservationRequest): Promise<Reservation> {
    const { call, bounds, hasBalance, budget } = request;
    const budgeted = budget === null ? null : this.#budgetShare(call, budget);
    const fromBudget = budgeted === null ? bounds.maxMicros : await this.#take(budgeted, bounds);
    if (fromBudget === null) throw budgetExceeded(budget);
    const balance = hasBalance ? this.#balanceShare(call) : null;
    let granted: number | null = null;
    try {
      granted = balance === null ? fromBudget : await this.#take(balance, { ...bounds, maxMicros: fromBudget });
      if (granted === null) throw insufficientCredits('The credits of your organization do not cover this request.');
    } finally {
      // What the balance does not cover goes back to the budget.
      budgeted?.settle(fromBudget - (granted ?? 0), 0);
    }
    return this.#reservation(request, granted, balance, budgeted);
  }

  /** Reserves from a share, extending its lease when necessary; null when less than the minimum is left. */
  #take(share: CreditShare, bounds: CostBounds): number | Promise<number | null> {
    const granted = share.reserve(bounds);
    if (granted !== null) return granted;
    const waiting = share.wait(bounds);
    if (!share.isExtending) void this.#extend(share);
    return waiting;
  }

  /** Extends a lease until no call waits, at least once. Calls that arrive during a statement share the next one. */
  async #extend(share: CreditShare): Promise<void> {
    share.isExtending = true;
    // Calls of one event-loop turn share a statement.
    await new Promise(setImmediate);
    do {
      await this.#renewing;
      const sentAt = performance.now();
      const targetMicros = share.beginExtension();
      const calls = share.waiting.splice(0);
      try {
        const lease = await extendLease(this.#db.sql, this.processId, share.account, targetMicros);
        if (share.isRevoked) {
          share.waiting.unshift(...calls);
          continue;
        }
        share.endExtension(lease, sentAt);
        if (share.isExpired())
          throw databaseUnavailable(new Error('the lease of credits has expired before it arrived'));
        for (const { bounds, resolve } of calls) resolve(share.reserveRest(bounds));
      } catch (error) {
        for (const { reject } of calls) reject(error);
      }
    } while (share.waiting.length > 0 || share.isRevoked);
    share.isExtending = false;
  }

  /** Renews all leases and gives back what is not used. Never rejects. */
  renew(): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#announce()).then(() => this.#renewAll());
    return this.#renewing;
  }

  async #renewAll(): Promise<void> {
    const shares = [...this.#shares.values()].filter(({ isExtending }) => !isExtending);
    for (let index = 0; index < shares.length; index += MAX_RENEWED) {
      const group = shares.slice(index, index + MAX_RENEWED);
      const sentAt = performance.now();
      const leases = group.map((share) => share.beginRenewal());
      try {
        const renewed = await renewLeases(this.#db.sql, this.processId, leases);
        const amounts = new Map(renewed.map(({ account, amountMicros }) => [account, amountMicros]));
        for (const [at, share] of group.entries()) {
          share.endRenewal(amounts.get(share.account.id) ?? 0, sentAt);
          // A lease that was revoked is ended by the next renewal.
          if (leases[at]?.amountMicros === 0 && share.isIdle()) this.#shares.delete(share.account.id);
        }
      } catch (error) {
        this.#logger.warn({ error: describeError(error) }, 'credit leases not renewed');
      }
    }
  }

  #share(account: CreditAccount): CreditShare {
    const existing = this.#shares.get(account.id);
    if (existing !== undefined) {
      existing.account = account;
      return existing;
    }
    const share = new CreditShare(account);
    this.#shares.set(account.id, share);
    return share;
  }

  #balanceShare(call: Call): CreditShare {
    return this.#share({ id: call.caller.organizationId, budget: null });
  }

  #budgetShare({ caller: { keyId } }: Call, budget: KeyBudget): CreditShare {
    const period = budgetPeriod(budget, this.#now());
    return this.#share({ id: `${keyId}/${period}`, budget: { keyId, period } });
  }

  #reservation(
    { call, budget }: ReservationRequest,
    grantedMicros: number,
    balance: CreditShare | null,
    budgeted: CreditShare | null,
  ): Reservation {
    if (budgeted !== null && budget !== null) this.#warn(call, budgeted, budget);
    const { processId } = this;
    const charge = { processId, hasBalance: balance !== null, budgetPeriod: budgeted?.account.budget?.period ?? null };
    let isSettled = false;
    const settle = (costMicros: number) => {
      if (isSettled) return;
      isSettled = true;
      balance?.settle(grantedMicros, costMicros);
      budgeted?.settle(grantedMicros, costMicros);
    };
    return { grantedMicros, charge, settle };
  }

  #warn(call: Call, share: CreditShare, { softLimitMicros, period }: KeyBudget): void {
    const { spentMicros } = share;
    if (softLimitMicros === null || spentMicros < softLimitMicros) return;
    call.setHeader?.(WARNING_HEADER, 'soft_limit_exceeded');
    if (share.hasWarned) return;
    share.hasWarned = true;
    this.#logger.warn(
      { keyId: call.caller.keyId, period, spentMicros, softLimitMicros },
      'soft limit of a budget exceeded',
    );
  }
}

/** A call with what limits it. */
interface ReservationRequest extends SpendingLimits {
  call: Call;
  bounds: CostBounds;
}

const PERIOD_NAMES = { day: 'daily', month: 'monthly', total: 'total' } as const;

function budgetExceeded(budget: KeyBudget | null): Error {
  const name = budget === null ? '' : `${PERIOD_NAMES[budget.period]} `;
  return insufficientCredits(`The ${name}budget of this API key does not cover this request.`);
}
