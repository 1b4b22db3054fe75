import { and, eq } from 'drizzle-orm';
import { apiKeys, organizations } from '../accounts/tables.ts';
import type { Database } from '../db/db.ts';
import type { Caller, KeyBudget } from '../lib/caller.ts';

/** How long limits are trusted without a query: a bound for the case that a notification is lost. */
const CACHE_TTL_MS = 3_000;
/** Cached keys; beyond that the oldest is evicted. */
const MAX_CACHED_KEYS = 10_000;

/** What limits the spending of a key. */
export interface SpendingLimits {
  /** Whether the organization has a balance; false: unlimited. */
  hasBalance: boolean;
  budget: KeyBudget | null;
}

interface CachedLimits extends SpendingLimits {
  organizationId: string;
  readAt: number;
}

/**
 * The spending limits of keys, read from the database and cached. They are not part of `Caller`, so that jobs and batches, which run
 * without the key itself, are limited as well.
 */
export class SpendingLimitsCache {
  readonly #db: Pick<Database, 'sql' | 'listen'>;
  readonly #now: () => number;
  readonly #cached = new Map<string, CachedLimits>();
  readonly #lookups = new Map<string, Promise<CachedLimits>>();

  /** `now` returns milliseconds since 1970. */
  constructor(db: Pick<Database, 'sql' | 'listen'>, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /** The limits of a caller; not a promise when they are cached. */
  get(caller: Pick<Caller, 'organizationId' | 'keyId'>): SpendingLimits | Promise<SpendingLimits> {
    const cached = this.#cached.get(caller.keyId);
    if (cached !== undefined && this.#now() - cached.readAt < CACHE_TTL_MS) return cached;
    const running = this.#lookups.get(caller.keyId);
    if (running !== undefined) return running;
    const lookup = this.#read(caller)
      .then((limits) => {
        if (this.#lookups.get(caller.keyId) === lookup) this.#cache(caller.keyId, limits);
        return limits;
      })
      .finally(() => {
        if (this.#lookups.get(caller.keyId) === lookup) this.#lookups.delete(caller.keyId);
      });
    this.#lookups.set(caller.keyId, lookup);
    return lookup;
  }

  /** Evicts keys that any process changes, until the returned function is called. */
  followChanges(): () => void {
    return this.#db.listen('quire_api_keys', {
      onNotification: (id) => this.evict(id),
      onGap: () => this.evict(),
    });
  }

  /** Evicts a key or the keys of an organization, or all keys without an id. What a running query reads is not cached. */
  evict(id?: string): void {
    this.#lookups.clear();
    for (const [keyId, { organizationId }] of this.#cached) {
      if (id === undefined || keyId === id || organizationId === id) this.#cached.delete(keyId);
    }
  }

  async #read({ organizationId, keyId }: Pick<Caller, 'organizationId' | 'keyId'>): Promise<CachedLimits> {
    const readAt = this.#now();
    const [row] = await this.#db.sql
      .select({ balanceMicros: organizations.balanceMicros, budget: apiKeys.budget })
      .from(organizations)
      .leftJoin(apiKeys, and(eq(apiKeys.organizationId, organizations.id), eq(apiKeys.id, keyId)))
      .where(eq(organizations.id, organizationId));
    const hasBalance = row !== undefined && row.balanceMicros !== null;
    return { organizationId, hasBalance, budget: row?.budget ?? null, readAt };
  }

  #cache(keyId: string, limits: CachedLimits): void {
    this.#cached.delete(keyId);
    this.#cached.set(keyId, limits);
    if (this.#cached.size > MAX_CACHED_KEYS) this.#cached.delete(this.#cached.keys().next().value as string);
  }
}
