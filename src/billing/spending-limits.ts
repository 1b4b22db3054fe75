import { and, eq } from 'drizzle-orm';
import { apiKeys, organizations } from '../accounts/tables.ts';
import type { Database } from '../db/db.ts';
import type { Caller, KeyBudget } from '../lib/caller.ts';
import { ReadCache } from '../lib/read-cache.ts';
import { type BudgetRow, selectEnforcedBudgets } from './budgets/store.ts';

/** How long limits are trusted without a query: a bound for the case that a notification is lost. */
const LIMITS_TTL_MS = 3_000;
/** Cached keys; beyond that the oldest is evicted. */
const MAX_CACHED_KEYS = 10_000;

/** What limits the spending of a key. */
export interface SpendingLimits {
  /** Whether the organization has a balance; false: unlimited. */
  hasBalance: boolean;
  budget: KeyBudget | null;
  /** Enforced budgets of the organization and of groups that contain the key. */
  groupBudgets: readonly Pick<BudgetRow, 'id' | 'name'>[];
}

interface CachedLimits extends SpendingLimits {
  organizationId: string;
}

/**
 * The spending limits of keys, read from the database and cached. They are not part of `Caller`, so that jobs and
 * batches, which run without the key itself, are limited as well.
 */
export class SpendingLimitsCache {
  readonly #db: Pick<Database, 'sql'>;
  /** By key id. */
  readonly #limits: ReadCache<CachedLimits>;
  #evictions = 0;

  /** `now` returns milliseconds since 1970. */
  constructor(db: Pick<Database, 'sql'>, now: () => number) {
    this.#db = db;
    this.#limits = new ReadCache({ ttlMs: LIMITS_TTL_MS, maxEntries: MAX_CACHED_KEYS, now });
  }

  /** The limits of a caller; not a promise when they are cached. */
  get(caller: Pick<Caller, 'organizationId' | 'keyId'>): SpendingLimits | Promise<SpendingLimits> {
    const limits = this.#limits.get(caller.keyId, () => this.#read(caller));
    return limits instanceof Promise ? this.#requireCurrent(caller, limits) : limits;
  }

  /** Evicts a key, the keys of an organization, or (without an id) all keys. A running query is repeated. */
  evict(id?: string): void {
    this.#evictions += 1;
    this.#limits.evict((keyId, { organizationId }) => id === undefined || keyId === id || organizationId === id);
  }

  async #requireCurrent(
    caller: Pick<Caller, 'organizationId' | 'keyId'>,
    lookup: Promise<CachedLimits>,
  ): Promise<SpendingLimits> {
    const evictions = this.#evictions;
    const limits = await lookup;
    return evictions === this.#evictions ? limits : this.get(caller);
  }

  async #read({ organizationId, keyId }: Pick<Caller, 'organizationId' | 'keyId'>): Promise<CachedLimits> {
    const { sql } = this.#db;
    // Sequential, so that one call does not use two database connections.
    const groupBudgets = await selectEnforcedBudgets(sql, organizationId, keyId);
    const [row] = await sql
      .select({ balanceMicros: organizations.balanceMicros, budget: apiKeys.budget })
      .from(organizations)
      .leftJoin(apiKeys, and(eq(apiKeys.organizationId, organizations.id), eq(apiKeys.id, keyId)))
      .where(eq(organizations.id, organizationId));
    const hasBalance = row !== undefined && row.balanceMicros !== null;
    return { organizationId, hasBalance, budget: row?.budget ?? null, groupBudgets };
  }
}
