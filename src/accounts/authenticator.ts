import type { Database } from '../db/db.ts';
import { invalidApiKey } from '../errors.ts';
import { type Caller, SCOPES, type Scope } from '../lib/caller.ts';
import { hashKey, KEY_PREFIX, MAX_KEY_CHARACTERS } from './key-format.ts';
import { type ApiKeyRow, selectApiKeyByHash } from './store.ts';

/** How long a looked-up key is believed. A revoked one must stop within 5 s in every process. */
const BELIEVED_MS = 3_000;
/** Keys kept looked up: 10,000 of them are about 5 MB. Beyond it the oldest is looked up again. */
const MAX_KEPT = 10_000;

interface Kept {
  row: ApiKeyRow;
  caller: Caller;
  readAt: number;
}

/** Says who holds a key. Keys are looked up once in three seconds, so the hot path costs a hash and no query. */
export class Authenticator {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();
  readonly #lookups = new Map<string, Promise<Kept | null>>();

  /** `now` gives milliseconds since 1970. */
  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * The caller behind the header `Authorization: Bearer KEY`; not a promise while the key is fresh in memory.
   * Throws 401 `invalid_api_key` when the header is absent or malformed, or the key unknown, revoked or expired.
   */
  authenticate(authorization: string | undefined): Caller | Promise<Caller> {
    const hash = hashKey(bearerKey(authorization));
    const kept = this.#kept.get(hash);
    if (kept !== undefined && this.#now() - kept.readAt < BELIEVED_MS) return this.#accept(kept);
    return this.#lookUp(hash).then((found) => {
      if (found === null) throw invalidApiKey('This API key is not known.');
      return this.#accept(found);
    });
  }

  /** Forgets what was looked up: after a key was revoked in this process, it stops at once. */
  forget(): void {
    this.#kept.clear();
  }

  #accept(kept: Kept): Caller {
    const { revokedAt, expiresAt } = kept.row;
    if (revokedAt !== null) throw invalidApiKey('This API key has been revoked.');
    if (expiresAt !== null && expiresAt.getTime() <= this.#now()) throw invalidApiKey('This API key has expired.');
    return kept.caller;
  }

  /** Requests that ask for the same key meanwhile share one query. */
  #lookUp(hash: string): Promise<Kept | null> {
    const running = this.#lookups.get(hash);
    if (running !== undefined) return running;
    const lookup = this.#read(hash).finally(() => this.#lookups.delete(hash));
    this.#lookups.set(hash, lookup);
    return lookup;
  }

  async #read(hash: string): Promise<Kept | null> {
    const readAt = this.#now();
    const row = await selectApiKeyByHash(this.#db.sql, hash);
    this.#kept.delete(hash);
    if (row === null) return null;
    const kept = { row, caller: callerOf(row), readAt };
    this.#kept.set(hash, kept);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value as string);
    return kept;
  }
}

function bearerKey(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw invalidApiKey("Send your API key in the header 'Authorization: Bearer quire-sk-...'.");
  }
  const [scheme, key, ...rest] = authorization.trim().split(/\s+/);
  if (scheme?.toLowerCase() !== 'bearer' || key === undefined || rest.length > 0) {
    throw invalidApiKey("The header 'Authorization' must be 'Bearer' and an API key.");
  }
  if (!key.startsWith(KEY_PREFIX) || key.length > MAX_KEY_CHARACTERS) {
    throw invalidApiKey(`This API key is not known; keys begin with '${KEY_PREFIX}'.`);
  }
  return key;
}

function callerOf(row: ApiKeyRow): Caller {
  return {
    organizationId: row.organizationId,
    keyId: row.id,
    scopes: new Set(row.scopes.filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope))),
    models: row.models === null ? null : new Set(row.models),
  };
}
