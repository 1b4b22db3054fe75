import type { Database } from '../db/db.ts';
import { type ApiError, invalidApiKey, missingApiKey } from '../errors.ts';
import { KeyHolder } from '../lib/call-log.ts';
import { type Caller, SCOPES, type Scope } from '../lib/caller.ts';
import { ReadCache } from '../lib/read-cache.ts';
import { hashKey, KEY_PREFIX, MAX_KEY_CHARACTERS } from './api-key.ts';
import {
  type ApiKeyRow,
  type KeyWithOrganization,
  selectApiKeyByHash,
  selectApiKeyById,
  updateLastUses,
} from './store.ts';

/**
 * How long a key row is trusted without a lookup. A revocation reaches every process as a notification within
 * milliseconds; this bounds the delay where notifications are lost.
 */
const CACHE_TTL_MS = 3_000;
/** Cached keys: 10,000 take about 5 MB. Beyond that the oldest is evicted. */
const MAX_CACHED_KEYS = 10_000;

interface CachedKey {
  row: ApiKeyRow;
  caller: Caller;
  /** End of this secret, in milliseconds since 1970; null: never. */
  expiresAt: number | null;
}

/** Identifies the holder of a key. Keys are cached for three seconds, so the hot path costs a hash and no query. */
export class Authenticator {
  readonly #db: Pick<Database, 'sql' | 'listen'>;
  readonly #now: () => number;
  /** By hash, or by id. */
  readonly #keys: ReadCache<CachedKey>;
  /** Last uses that are not stored yet, by key id. */
  #uses = new Map<string, number>();

  /** `now` returns milliseconds since 1970. */
  constructor(db: Pick<Database, 'sql' | 'listen'>, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
    this.#keys = new ReadCache({ ttlMs: CACHE_TTL_MS, maxEntries: MAX_CACHED_KEYS, now });
  }

  /**
   * The caller behind the header `Authorization: Bearer KEY`; not a promise when the key is cached.
   * Throws 401 `invalid_api_key` when the header is absent or malformed, or the key unknown, revoked or expired.
   */
  authenticate(authorization: string | undefined): Caller | Promise<Caller> {
    const hash = hashKey(bearerKey(authorization));
    const key = this.#keys.get(hash, () => this.#read(hash));
    return key instanceof Promise ? key.then((read) => this.#accept(read)) : this.#accept(key);
  }

  /** The caller of the key with this id, without its secret. Throws 401 as `authenticate` does. */
  authenticateId(id: string): Caller | Promise<Caller> {
    const read = async () => {
      const key = await selectApiKeyById(this.#db.sql, id);
      if (key === null) throw invalidApiKey('The API key that requests without a key act as does not exist.');
      return toCachedKey(key, key.row.hash);
    };
    const key = this.#keys.get(id, read);
    return key instanceof Promise ? key.then((row) => this.#accept(row)) : this.#accept(key);
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
    this.#keys.evict((_hash, { row }) => id === undefined || row.id === id || row.organizationId === id);
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
    if (row.revokedAt !== null) throw heldBy(caller, invalidApiKey('This API key has been revoked.'));
    if (expiresAt !== null && expiresAt <= now) throw heldBy(caller, invalidApiKey('This API key has expired.'));
    this.#uses.set(row.id, now);
    return caller;
  }

  async #read(hash: string): Promise<CachedKey> {
    const key = await selectApiKeyByHash(this.#db.sql, hash);
    if (key === null) throw invalidApiKey('This API key is unknown.');
    return toCachedKey(key, hash);
  }
}

const toCachedKey = (key: KeyWithOrganization, hash: string): CachedKey => ({
  row: key.row,
  caller: toCaller(key),
  expiresAt: secretExpiry(key.row, hash),
});

/** A secret that was replaced by a rotation ends before its key does. */
function secretExpiry({ hash: current, expiresAt, previousExpiresAt }: ApiKeyRow, hash: string): number | null {
  const ends = [expiresAt, hash === current ? null : previousExpiresAt].flatMap((end) => end?.getTime() ?? []);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Names the holder of the key for the request log. */
function heldBy({ organizationId, keyId }: Caller, error: ApiError): ApiError {
  error.cause = new KeyHolder(organizationId, keyId);
  return error;
}

function bearerKey(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw missingApiKey("Send your API key in the header 'Authorization: Bearer quire-sk-...'.");
  }
  const [scheme, key, ...extra] = authorization.trim().split(/\s+/);
  if (scheme?.toLowerCase() !== 'bearer' || key === undefined || extra.length > 0) {
    throw missingApiKey("The header 'Authorization' must be 'Bearer' and an API key.");
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
    knowledgeBaseIds: row.knowledgeBaseIds,
    limits: row.limits,
    organizationLimits,
    budget: row.budget,
  };
}
