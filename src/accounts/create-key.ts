import type { Database } from '../db/db.ts';
import type { Scope } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { hashKey, newKey } from './key-format.ts';
import { type ApiKeyRow, insertApiKey, selectOrganizationByName } from './store.ts';

/** What a new key may do. */
export interface NewKey {
  /** Name of the organization that owns it. */
  organization: string;
  name: string;
  scopes: readonly Scope[];
  /** The only models that it may use; null: all. */
  models: readonly string[] | null;
  /** Seconds from its creation until it stops working; null: never. */
  expiresInSeconds: number | null;
}

/** A key as people see it: never the secret, never the hash. */
export interface KeyView {
  id: string;
  organization_id: string;
  name: string;
  /** Its last four characters. */
  hint: string;
  scopes: string[];
  models: string[] | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
}

/**
 * Creates a key. `key` is the secret: it is in this answer and nowhere else. `given` is used instead of an invented one.
 * Throws a `OperatorError` when there is no such organization.
 */
export async function createKey(
  deps: { db: Database },
  wanted: NewKey,
  given: string | null = null,
): Promise<KeyView & { key: string }> {
  const organization = await selectOrganizationByName(deps.db.sql, wanted.organization);
  if (organization === null) {
    throw new OperatorError(
      `There is no organization '${wanted.organization}'. 'quire orgs list' shows those there are.`,
    );
  }
  const key = given ?? newKey();
  // One clock for both times: the database's may be another, and the key would live for less than was asked for.
  const createdAt = new Date();
  const life = wanted.expiresInSeconds;
  const row = await insertApiKey(deps.db.sql, {
    id: newId('apiKey'),
    organizationId: organization.id,
    name: wanted.name,
    hash: hashKey(key),
    hint: key.slice(-4),
    scopes: [...wanted.scopes],
    models: wanted.models === null ? null : [...wanted.models],
    createdAt,
    expiresAt: life === null ? null : new Date(createdAt.getTime() + life * 1000),
  });
  return { ...viewKey(row), key };
}

/** The row as people see it. */
export function viewKey(row: ApiKeyRow): KeyView {
  return {
    id: row.id,
    organization_id: row.organizationId,
    name: row.name,
    hint: row.hint,
    scopes: row.scopes,
    models: row.models,
    created_at: unixSeconds(row.createdAt),
    expires_at: row.expiresAt && unixSeconds(row.expiresAt),
    revoked_at: row.revokedAt && unixSeconds(row.revokedAt),
  };
}

const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);
