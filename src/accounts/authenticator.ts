import type { Database } from '../db/db.ts';
import { invalidApiKey } from '../errors.ts';
import { type Caller, SCOPES, type Scope } from '../lib/caller.ts';
import { hashKey, KEY_PREFIX, MAX_KEY_CHARACTERS } from './api-key.ts';
import { type ApiKeyRow, selectApiKeyByHash } from './store.ts';

/** Cache TTL of API keys: a revoked key must be rejected within 5 s by every process. */
const CACHE_TTL_MS = 3_000;
/** Maximum number of cached keys (about 5 MB). The oldest is evicted first. */
const MAX_CACHED_KEYS = 10_000;

interface CachedKey {
  row: ApiKeyRow;
  caller: Caller;
  readAt: number;
}

/** Authenticates API keys. Keys are cached for `CACHE_TTL_MS`, so that the hot path costs one hash and no query. */
export class Authenticator {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #cache = new Map<string, CachedKey>();
  readonly #lookups = new Map<string, Promise<CachedKey | null>>();

  /** `now` returns Unix milliseconds. */
  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * Returns the caller of an `Authorization: Bearer KEY` header, synchronously when the key is cached. Throws 401 `invalid_api_key`
   * when the header is missing or malformed, or the key is unknown, revoked or expired.
   */
  authenticate(authorization: string | undefined): Caller | Promise<Caller> {
    const hash = hashKey(bearerKey(authorization));
    const cached = this.#cache.get(hash);
    if (cached !== undefined && this.#now() - cached.readAt < CACHE_TTL_MS) return this.#accept(cached);
    return this.#lookUp(hash).then((found) => {
      if (found === null) throw invalidApiKey('This API key is unknown.');
      return this.#accept(found);
    });
  }

  /** Clears the cache, so that a key revoked by this process is rejected immediately. */
  clearCache(): void {
    this.#cache.clear();
  }

  #accept(cached: CachedKey): Caller {
    const { revokedAt, expiresAt } = cached.row;
    if (revokedAt !== null) throw invalidApiKey('This API key has been revoked.');
    if (expiresAt !== null && expiresAt.getTime() <= this.#now()) throw invalidApiKey('This API key has expired.');
    return cached.caller;
  }

  /** Concurrent requests with the same key share one query. */
  #lookUp(hash: string): Promise<CachedKey | null> {
    const running = this.#lookups.get(hash);
    if (running !== undefined) return running;
    const lookup = this.#read(hash).finally(() => this.#lookups.delete(hash));
    this.#lookups.set(hash, lookup);
    return lookup;
  }

  async #read(hash: string): Promise<CachedKey | null> {
    const readAt = this.#now();
    const row = await selectApiKeyByHash(this.#db.sql, hash);
    this.#cache.delete(hash);
    if (row === null) return null;
    const cached = { row, caller: toCaller(row), readAt };
    this.#cache.set(hash, cached);
    if (this.#cache.size > MAX_CACHED_KEYS) this.#cache.delete(this.#cache.keys().next().value as string);
    return cached;
  }
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

function toCaller(row: ApiKeyRow): Caller {
  return {
    organizationId: row.organizationId,
    keyId: row.id,
    scopes: new Set(row.scopes.filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope))),
    models: row.models === null ? null : new Set(row.models),
  };
}
