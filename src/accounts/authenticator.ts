import type { Database } from '../db/db.ts';
import { invalidApiKey } from '../errors.ts';
import { type Caller, SCOPES, type Scope } from '../lib/caller.ts';
import { hashKey, KEY_PREFIX, MAX_KEY_CHARACTERS } from './api-key.ts';
import { type ApiKeyRow, type KeyWithOrganization, selectApiKeyByHash, updateLastUses } from './store.ts';

/**
 * How long a key row is trusted without a lookup. A revocation reaches every process as a notification within milliseconds; this bounds the
 * delay where notifications are lost.
 */
const CACHE_TTL_MS = 3_000;
/** Cached keys: 10,000 take about 5 MB. Beyond that the oldest is evicted. */
const MAX_CACHED_KEYS = 10_000;

interface CachedKey {
  row: ApiKeyRow;
  caller: Caller;
  /** End of this secret, in milliseconds since 1970; null: never. */
  expiresAt: number | null;
  readAt: number;
}

/** Identifies the holder of a key. Keys are cached for three seconds, so the hot path costs a hash and no query. */
export class Authenticator {
  readonly #db: Pick<Database, 'sql' | 'listen'>;
  readonly #now: () => number;
  readonly #cached = new Map<string, CachedKey>();
  /** Running lookups; a lookup that a revocation may have overtaken is removed, so that nothing of it is cached. */
  readonly #lookups = new Map<string, Promise<CachedKey | null>>();
  /** Last uses that are not stored yet, by key id. */
  #uses = new Map<string, number>();

  /** `now` returns milliseconds since 1970. */
  constructor(db: Pick<Database, 'sql' | 'listen'>, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * The caller behind the header `Authorization: Bearer KEY`; not a promise when the key is cached.
   * Throws 401 `invalid_api_key` when the header is absent or malformed, or the key unknown, revoked or expired.
   */
  authenticate(authorization: string | undefined): Caller | Promise<Caller> {
    const hash = hashKey(bearerKey(authorization));
    const cached = this.#cached.get(hash);
    if (cached !== undefined && this.#now() - cached.readAt < CACHE_TTL_MS) return this.#accept(cached);
    return this.#lookUp(hash).then((found) => {
      if (found === null) throw invalidApiKey('This API key is unknown.');
      return this.#accept(found);
    });
  }

  /** Evicts keys that any process changes, until the returned function is called. */
  followChanges(): () => void {
    return this.#db.listen('quire_api_keys', {
      onNotification: (id) => this.evict(id),
      onGap: () => this.evict(),
    });
  }

  /** Evicts a key or the keys of an organization, or all keys without an id. Later calls read the database. */
  evict(id?: string): void {
    this.#lookups.clear();
    for (const [hash, { row }] of this.#cached) {
      if (id === undefined || row.id === id || row.organizationId === id) this.#cached.delete(hash);
    }
  }

  /** Stores the last use of every key used since the previous call, in one statement. */
  async writeLastUses(): Promise<void> {
    const uses = this.#uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    await updateLastUses(this.#db.sql, uses);
  }

  #accept({ row, caller, expiresAt }: CachedKey): Caller {
    const now = this.#now();
    if (row.revokedAt !== null) throw invalidApiKey('This API key has been revoked.');
    if (expiresAt !== null && expiresAt <= now) throw invalidApiKey('This API key has expired.');
    this.#uses.set(row.id, now);
    return caller;
  }

  /** Concurrent lookups of one key share one query. */
  #lookUp(hash: string): Promise<CachedKey | null> {
    const running = this.#lookups.get(hash);
    if (running !== undefined) return running;
    const readAt = this.#now();
    const lookup = selectApiKeyByHash(this.#db.sql, hash)
      .then((key) => {
        const found =
          key === null ? null : { row: key.row, caller: toCaller(key), expiresAt: secretExpiry(key.row, hash), readAt };
        if (this.#lookups.get(hash) === lookup) this.#cache(hash, found);
        return found;
      })
      .finally(() => {
        if (this.#lookups.get(hash) === lookup) this.#lookups.delete(hash);
      });
    this.#lookups.set(hash, lookup);
    return lookup;
  }

  #cache(hash: string, found: CachedKey | null): void {
    this.#cached.delete(hash);
    if (found === null) return;
    this.#cached.set(hash, found);
    if (this.#cached.size > MAX_CACHED_KEYS) this.#cached.delete(this.#cached.keys().next().value as string);
  }
}

/** A secret that was replaced by a rotation ends before its key does. */
function secretExpiry({ hash: current, expiresAt, previousExpiresAt }: ApiKeyRow, hash: string): number | null {
  const ends = [expiresAt, hash === current ? null : previousExpiresAt].flatMap((end) => end?.getTime() ?? []);
  return ends.length === 0 ? null : Math.min(...ends);
}

function bearerKey(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw invalidApiKey("Send your API key in the header 'Authorization: Bearer quire-sk-...'.");
  }
  const [scheme, key, ...extra] = authorization.trim().split(/\s+/);
  if (scheme?.toLowerCase() !== 'bearer' || key === undefined || extra.length > 0) {
    throw invalidApiKey("The header 'Authorization' must be 'Bearer' and an API key.");
  }
  if (!key.startsWith(KEY_PREFIX) || key.length > MAX_KEY_CHARACTERS) {
    throw invalidApiKey(`This API key is unknown; keys begin with '${KEY_PREFIX}'.`);
  }
  return key;
}

function toCaller({ row, organizationLimits }: KeyWithOrganization): Caller {
  return {
    organizationId: row.organizationId,
    keyId: row.id,
    scopes: new Set(row.scopes.filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope))),
    models: row.models === null ? null : new Set(row.models),
    limits: row.limits,
    organizationLimits,
    budget: row.budget,
  };
}
