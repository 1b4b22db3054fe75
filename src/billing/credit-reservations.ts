import type { Database } from '../db/db.ts';
import { databaseUnavailable, insufficientCredits } from '../errors.ts';
import type { ProcessLease } from '../leases/process-lease.ts';
import type { Call, KeyBudget } from '../lib/caller.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { CostBounds, Reservation } from '../lib/reservation.ts';
import { CreditShare } from './credit-share.ts';
import { budgetPeriod } from './credits.ts';
import { type CreditAccount, deleteRevokedLease, extendLease, lowerLeases } from './lease-store.ts';
import { type SpendingLimits, SpendingLimitsCache } from './spending-limits.ts';

/** Unused credits return to the other processes after at most twice this time. */
const GIVE_BACK_MS = 1_000;
/** Response header of calls of a key beyond the soft limit of its budget. */
const WARNING_HEADER = 'x-budget-warning';

/** Dependencies of `CreditReservations`. */
export interface CreditDeps {
  db: Database;
  lease: ProcessLease;
  logger: Logger;
  /** Returns Unix milliseconds. */
  now(): number;
}

/**
 * Reserves credits before calls, correct across processes. Each process leases a share of a balance or budget and
 * reserves from it in memory; the database is asked only when the share is used up. The ledger deducts costs from
 * account and lease in the statement of the usage records.
 */
export class CreditReservations {
  readonly #db: Database;
  readonly #lease: ProcessLease;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #limits: SpendingLimitsCache;
  readonly #shares = new Map<string, CreditShare>();
  #givingBack: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #unfollow: () => void = () => {};

  constructor({ db, lease, logger, now }: CreditDeps) {
    this.#db = db;
    this.#lease = lease;
    this.#logger = logger;
    this.#now = now;
    this.#limits = new SpendingLimitsCache(db, now);
    lease.onRegained(() => this.#leaseAgain());
  }

  /** Follows changes of limits, and gives unused credits back, until `stop`. */
  start(): void {
    this.#unfollow = this.#db.listen('quire_api_keys', {
      onNotification: (id) => this.evictLimits(id),
      onGap: () => this.#limits.evict(),
    });
    this.#timer = setInterval(() => void this.giveBack(), GIVE_BACK_MS).unref();
  }

  /** Resolves when no more credits are given back. What is left ends with the lease of the process. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#unfollow();
    await this.#givingBack;
  }

  /**
   * Reads the limits of a key or of an organization's keys again, and stops using leases that may have been revoked.
   */
  evictLimits(id: string): void {
    this.#limits.evict(id);
    for (const share of this.#shares.values()) {
      if (share.account.id !== id && !share.account.id.startsWith(`${id}/`)) continue;
      this.#leaseAnew(share);
    }
    if (!this.#shares.has(id)) void this.#acknowledge(id);
  }

  /** Drops a lease. The new one covers the calls in progress, and replaces a revoked one. */
  #leaseAnew(share: CreditShare): void {
    share.revoke();
    if (!share.isExtending) void this.#extend(share);
  }

  /** A process without a share of the account only reads its limits again. Never rejects: `giveBack` tries again. */
  async #acknowledge(id: string): Promise<void> {
    await deleteRevokedLease(this.#db.sql, this.#lease.id, id).catch((error: unknown) =>
      this.#logger.warn({ error: describeError(error) }, 'change of a limit not acknowledged'),
    );
  }

  /** Reads all limits again, and leases what running calls have reserved: other processes may have taken it over. */
  #leaseAgain(): void {
    this.#limits.evict();
    for (const share of this.#shares.values()) this.#leaseAnew(share);
  }

  /** Reserves credits for a call: see `Reserve`. */
  reserve(call: Call, bounds: () => CostBounds): Reservation | null | Promise<Reservation | null> {
    const limits = this.#limits.get(call.caller);
    if (limits instanceof Promise) return limits.then((read) => this.#reserveWithin(read, call, bounds));
    return this.#reserveWithin(limits, call, bounds);
  }

  #reserveWithin(
    limits: SpendingLimits,
    call: Call,
    toBounds: () => CostBounds,
  ): Reservation | null | Promise<Reservation | null> {
    if (!limits.hasBalance && limits.budget === null && limits.groupBudgets.length === 0) return null;
    const bounds = toBounds();
    if (bounds.maxMicros === 0) return null;
    const request = { ...limits, call, bounds };
    const taken = this.#accounts(request).map(({ account }) => {
      const share = this.#share(account);
      return { share, micros: share.reserve(bounds) };
    });
    const isComplete = taken.every(({ micros }) => micros !== null);
    if (isComplete) return this.#reservation(request, bounds.maxMicros, taken);
    for (const { share, micros } of taken) if (micros !== null) share.settle(micros, 0);
    return this.#reserveExtending(request);
  }

  /** Accounts that limit a call: budgets first, then the balance. */
  #accounts({ call: { caller }, hasBalance, budget, groupBudgets }: ReservationRequest): LimitingAccount[] {
    const { keyId, organizationId } = caller;
    const accounts: LimitingAccount[] = [];
    if (budget !== null) {
      const period = budgetPeriod(budget, this.#now());
      const account = { id: `${keyId}/${period}`, budget: { keyId, period } };
      accounts.push({ account, exceeded: () => budgetExceeded(budget) });
    }
    const period = budgetPeriod({ period: 'month' }, this.#now());
    for (const { id, name } of groupBudgets) {
      const account = { id: `${organizationId}/${id}/${period}`, budget: { keyId: id, period }, isGroup: true };
      const message = `The monthly budget '${name}' of your organization does not cover this request.`;
      accounts.push({ account, exceeded: () => insufficientCredits(message) });
    }
    if (hasBalance) {
      const message = 'The credits of your organization do not cover this request.';
      accounts.push({ account: { id: organizationId, budget: null }, exceeded: () => insufficientCredits(message) });
    }
    return accounts;
  }

  /** Reserves from the accounts in sequence, from the balance last. Unused shares are returned soon. */
  async #reserveExtending(request: ReservationRequest): Promise<Reservation> {
    const taken: { share: CreditShare; micros: number }[] = [];
    let { maxMicros } = request.bounds;
    try {
      for (const { account, exceeded } of this.#accounts(request)) {
        const share = this.#share(account);
        const micros = await this.#take(share, { ...request.bounds, maxMicros });
        if (micros === null) throw exceeded();
        taken.push({ share, micros });
        maxMicros = micros;
      }
    } catch (error) {
      for (const { share, micros } of taken) share.settle(micros, 0);
      throw error;
    }
    // If a later account does not cover the call, the earlier accounts get their shares back.
    for (const { share, micros } of taken) share.settle(micros - maxMicros, 0);
    return this.#reservation(request, maxMicros, taken);
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
      await this.#givingBack;
      const calls = share.waiting.splice(0);
      try {
        if (!this.#lease.isHeld()) await this.#lease.beat();
        const targetMicros = share.beginExtension(calls);
        const lease = await extendLease(this.#db.sql, this.#lease.id, share.account, targetMicros);
        if (share.isRevoked) {
          share.waiting.unshift(...calls);
          continue;
        }
        share.endExtension(lease);
        // What is left of the account is unknown.
        if (!this.#lease.isHeld())
          throw databaseUnavailable(new Error('the lease of credits has expired before it arrived'));
        for (const { bounds, resolve } of calls) resolve(share.reserveRest(bounds));
      } catch (error) {
        for (const { reject } of calls) reject(error);
      }
    } while (share.waiting.length > 0 || share.isRevoked);
    share.isExtending = false;
  }

  /** Gives back unused credits, and applies changes of limits without a notification to this process. Never rejects. */
  giveBack(): Promise<void> {
    this.#givingBack = this.#givingBack
      .then(() => this.#giveBack())
      .catch((error: unknown) => this.#logger.warn({ error: describeError(error) }, 'unused credits not given back'));
    return this.#givingBack;
  }

  async #giveBack(): Promise<void> {
    const shares = [...this.#shares.values()].filter(({ isExtending }) => !isExtending);
    if (shares.length === 0 && this.#db.isExclusive) return;
    const lowered = new Map<string, number>();
    for (const share of shares) {
      const leftMicros = share.giveBack();
      if (leftMicros !== null) lowered.set(share.account.id, leftMicros);
    }
    const leases = await lowerLeases(this.#db.sql, this.#lease.id, lowered);
    for (const share of shares) {
      const { id } = share.account;
      share.limit(leases.get(id) ?? 0);
      // A lease that was revoked is ended the next time.
      if (lowered.get(id) === 0 && share.isIdle()) this.#shares.delete(id);
    }
    for (const [id, amountMicros] of leases) if (amountMicros === 0 && !this.#shares.has(id)) this.evictLimits(id);
  }

  #share(account: CreditAccount): CreditShare {
    const existing = this.#shares.get(account.id);
    if (existing !== undefined) {
      existing.account = account;
      return existing;
    }
    const share = new CreditShare(account, this.#lease);
    this.#shares.set(account.id, share);
    return share;
  }

  #reservation(
    { call, budget, hasBalance, groupBudgets }: ReservationRequest,
    grantedMicros: number,
    taken: readonly { share: CreditShare }[],
  ): Reservation {
    const shares = taken.map(({ share }) => share);
    const keyShare = budget === null ? undefined : shares[0];
    if (keyShare !== undefined && budget !== null) this.#warn(call, keyShare, budget);
    const groups = shares.flatMap(({ account: { isGroup, budget: group } }) =>
      isGroup && group !== null ? [{ id: group.keyId, period: group.period }] : [],
    );
    const charge = {
      processId: this.#lease.id,
      hasBalance,
      budgetPeriod: keyShare?.account.budget?.period ?? null,
      ...(groupBudgets.length > 0 && { budgets: groups }),
    };
    let isSettled = false;
    const settle = (costMicros: number) => {
      if (isSettled) return;
      isSettled = true;
      for (const share of shares) share.settle(grantedMicros, costMicros);
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

/** An account that limits a call, and the error when it does not cover the call. */
interface LimitingAccount {
  account: CreditAccount;
  exceeded(): Error;
}

/** A call with what limits it. */
interface ReservationRequest extends SpendingLimits {
  call: Call;
  bounds: CostBounds;
}

const PERIOD_NAMES = { day: 'daily', month: 'monthly', total: 'total' } as const;

function budgetExceeded({ period }: KeyBudget): Error {
  return insufficientCredits(`The ${PERIOD_NAMES[period]} budget of this API key does not cover this request.`);
}
