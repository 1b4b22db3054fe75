import { Counter, type Registry } from 'prom-client';
import type { Database } from '../db/db.ts';
import type { ProcessLease } from '../leases/process-lease.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { BucketState } from './gcra.ts';
import { type Bucket, type Demand, type LimitStore, type Rejection, SLOT_WAIT_MS, type Slots } from './limit-store.ts';
import { BucketShare, SHARE_MS, SlotShare } from './shares.ts';

/** A database that takes longer counts as failed: requests must not wait for their limits. */
const EXCHANGE_TIMEOUT_MS = 1_000;
/** Time without exchanges after a failed one. */
const OFFLINE_MS = 1_000;
/** Demands per statement. */
const MAX_BATCH = 512;
/** Interval of the deletion of full buckets. */
const SWEEP_MS = 600_000;
const SWEEP = 'delete from rate_limit_buckets where full_at_ms < extract(epoch from clock_timestamp()) * 1000';

const EXCHANGE = 'select share_id, granted, debt_ms from quire_exchange_rate_limits($1::json)';

/** A row of `EXCHANGE`. */
interface Granted {
  share_id: string;
  granted: number;
  debt_ms: number;
}

/** Dependencies of `SharedLimitStore`. */
export interface SharedStoreDeps {
  db: Pick<Database, 'prepare' | 'execute'>;
  lease: Pick<ProcessLease, 'id' | 'onRegained'>;
  logger: Logger;
  metrics: Registry;
  /** Milliseconds of a clock that never goes back; `performance.now` unless given. */
  now?: () => number;
  /** Milliseconds since 1970 for the database; its own clock unless given. */
  databaseNow?: () => number;
}

/** Shares that an exchange returns besides the demanded ones. */
type Returned = 'none' | 'idle' | 'all';

/** A demand that only the database can decide. */
interface PendingDemand {
  demand: Demand;
  /** Set by the exchange. */
  rejection: Rejection;
}

const NO_DEMAND: Demand = { charges: [], slots: [] };

/**
 * Buckets and slots that all processes on a database share. A process takes shares of them ahead and decides most
 * requests alone; the others of one event-loop turn share one statement. Together, processes exceed a limit by no more
 * than what they hold ahead: the refill of two seconds each. While the database fails, each process limits alone, by
 * what it knows.
 */
export class SharedLimitStore implements LimitStore {
  readonly #deps: SharedStoreDeps;
  readonly #exchangeRows: (parameter: string) => Promise<unknown[]>;
  readonly #now: () => number;
  readonly #buckets = new Map<string, BucketShare>();
  readonly #slots = new Map<string, SlotShare>();
  readonly #failures: Counter;
  readonly #timer: NodeJS.Timeout;
  readonly #pending = new GroupCommit<PendingDemand>({
    write: (group) => this.#decideGroup(group),
    maxWeight: MAX_BATCH,
    delayMs: 0,
    stopsOnFailure: false,
  });
  #offlineUntil = Number.NEGATIVE_INFINITY;
  #sweptAt: number;
  /** The next exchange returns idle shares. */
  #isReturnDue = false;

  constructor(deps: SharedStoreDeps) {
    this.#deps = deps;
    this.#exchangeRows = deps.db.prepare('exchange_rate_limits', EXCHANGE);
    this.#now = deps.now ?? (() => performance.now());
    this.#sweptAt = this.#now();
    this.#failures = new Counter({
      name: 'quire_rate_limit_exchange_failures_total',
      help: 'Failed exchanges of rate limits with the database.',
      registers: [deps.metrics],
    });
    deps.lease.onRegained(() => {
      for (const share of this.#slots.values()) share.lose();
    });
    this.#timer = setInterval(() => this.#maintain(), SHARE_MS).unref();
  }

  take(demand: Demand): Rejection | Promise<Rejection> {
    const decided = this.#decide(demand, this.#isOffline() ? 'offline' : 'sure');
    if (decided !== undefined) return decided;
    const pending: PendingDemand = { demand, rejection: null };
    return this.#pending.add(pending).then(() => pending.rejection);
  }

  state(bucket: Bucket): BucketState {
    return this.#bucket(bucket).state(this.#now());
  }

  charge(bucket: Bucket, cost: number): void {
    this.#use(bucket, cost, this.#isOffline());
  }

  release(slots: readonly Slots[]): void {
    for (const one of slots) {
      const share = this.#slot(one);
      share.used = Math.max(0, share.used - 1);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pending.flush();
    for (const share of this.#slots.values()) share.used = 0;
    await this.#exchange([], 'all');
  }

  /**
   * Takes the units of the demand, or rejects it. Modes: `sure` returns undefined when only the database can decide;
   * `exchanged` decides after an exchange with the database; `offline` decides with the process's own counts.
   */
  #decide({ charges, slots }: Demand, mode: 'sure' | 'exchanged' | 'offline'): Rejection | undefined {
    const now = this.#now();
    let rejection: Rejection = null;
    let isSure = true;
    const reject = (id: string, waitMs: number) => {
      if (waitMs > (rejection?.waitMs ?? 0)) rejection = { id, waitMs };
    };
    for (const one of slots) {
      const share = this.#slot(one);
      const isFree = mode === 'offline' ? share.used < share.limit : share.isFree(now);
      if (isFree === undefined && mode === 'sure') isSure = false;
      else if (!isFree) reject(one.id, SLOT_WAIT_MS);
    }
    for (const { bucket, cost } of charges) {
      const share = this.#bucket(bucket);
      const wait = share.wait(cost, now);
      if (mode === 'sure' && !share.isCurrent(now)) isSure = false;
      else if (wait > 0) reject(bucket.id, wait);
      else if (share.credit < cost && cost > 0 && mode !== 'offline') {
        if (mode === 'sure') isSure = false;
        else reject(bucket.id, 1);
      }
    }
    if (!isSure) return undefined;
    if (rejection !== null) return rejection;
    for (const { bucket, cost } of charges) this.#use(bucket, cost, mode === 'offline');
    for (const one of slots) this.#slot(one).used += 1;
    return null;
  }

  async #decideGroup(group: readonly PendingDemand[]): Promise<void> {
    if (this.#isReturnDue) this.#forgetShares();
    const isOnline = await this.#exchange(group.map(({ demand }) => demand));
    for (const pending of group) {
      pending.rejection = this.#decide(pending.demand, isOnline ? 'exchanged' : 'offline') ?? null;
    }
  }

  /** Takes shares for the demands, and returns idle ones or all. False: it failed. */
  async #exchange(
    demands: readonly Demand[],
    returned: Returned = this.#isReturnDue ? 'idle' : 'none',
  ): Promise<boolean> {
    this.#isReturnDue = false;
    const { buckets, slots } = this.#select(demands, returned);
    if (buckets.size + slots.size === 0) return true;
    const bucketAsks = [...buckets].map(([share, costs]) => share.ask(costs));
    const slotAsks = new Map([...slots].map(([share, more]) => [share.id, share.ask(more)]));
    const request = {
      process: this.#deps.lease.id,
      nowMs: this.#deps.databaseNow?.() ?? null,
      buckets: bucketAsks,
      slots: [...slotAsks.values()],
    };
    try {
      const rows = (await withTimeout(this.#exchangeRows(JSON.stringify(request)))) as Granted[];
      const now = this.#now();
      for (const { share_id: id, granted, debt_ms: debtMs } of rows) {
        this.#buckets.get(id)?.granted(granted, debtMs, now);
        this.#slots.get(id)?.granted(granted, slotAsks.get(id)?.wanted ?? 0, now);
      }
      return true;
    } catch (error) {
      for (const share of buckets.keys()) share.failed(this.#now());
      this.#offlineUntil = this.#now() + OFFLINE_MS;
      this.#failures.inc();
      this.#deps.logger.warn({ reason: describeError(error) }, 'rate limits not shared: this process limits alone');
      return false;
    }
  }

  /** The shares of the demands with the needed amounts, and the shares to return with zero. */
  #select(demands: readonly Demand[], returned: Returned) {
    const buckets = new Map<BucketShare, number[]>();
    const slots = new Map<SlotShare, number>();
    if (returned !== 'none') {
      const now = this.#now();
      const isAll = returned === 'all';
      for (const share of this.#buckets.values()) if (isAll || share.isIdle(now)) buckets.set(share, []);
      for (const share of this.#slots.values()) if (isAll || share.isIdle(now)) slots.set(share, 0);
    }
    for (const demand of demands) {
      for (const { bucket, cost } of demand.charges) {
        const share = this.#bucket(bucket);
        buckets.set(share, [...(buckets.get(share) ?? []), cost]);
      }
      for (const one of demand.slots) {
        const share = this.#slot(one);
        slots.set(share, (slots.get(share) ?? 0) + 1);
      }
    }
    return { buckets, slots };
  }

  /** Exchanges without a demand, which returns idle shares. */
  #maintain(): void {
    this.#isReturnDue = true;
    if (this.#isOffline()) return;
    if (this.#buckets.size + this.#slots.size > 0) void this.#pending.add({ demand: NO_DEMAND, rejection: null });
    const now = this.#now();
    if (now - this.#sweptAt > SWEEP_MS) this.#sweep(now);
  }

  /** Forgets shares that are as good as new ones. */
  #forgetShares(): void {
    const now = this.#now();
    for (const [id, share] of this.#buckets) if (share.isForgettable(now)) this.#buckets.delete(id);
    for (const [id, share] of this.#slots) if (share.isForgettable(now)) this.#slots.delete(id);
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    this.#deps.db
      .execute(SWEEP)
      .catch((error) => this.#deps.logger.warn({ reason: describeError(error) }, 'rate limits not swept'));
  }

  #use(bucket: Bucket, cost: number, isOffline: boolean): void {
    const share = this.#bucket(bucket);
    if (isOffline) share.useOffline(cost, this.#now());
    else share.use(cost);
  }

  #isOffline(): boolean {
    return this.#now() < this.#offlineUntil;
  }

  #bucket(bucket: Bucket): BucketShare {
    const share = this.#buckets.get(bucket.id) ?? new BucketShare(bucket);
    this.#buckets.set(bucket.id, share);
    share.limit = bucket.limit;
    return share;
  }

  #slot(slots: Slots): SlotShare {
    const share = this.#slots.get(slots.id) ?? new SlotShare(slots);
    this.#slots.set(slots.id, share);
    share.limit = slots.limit;
    return share;
  }
}

async function withTimeout<T>(exchange: Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`the database did not answer within ${EXCHANGE_TIMEOUT_MS} ms`)),
    EXCHANGE_TIMEOUT_MS,
  );
  try {
    return await Promise.race([exchange, timeout]);
  } finally {
    clearTimeout(timer);
    exchange.catch(() => {});
  }
}
