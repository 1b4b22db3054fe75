import type { Database } from '../db/db.ts';
import type { Scope } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { generateKey, hashKey } from './api-key.ts';
import { type ApiKeyRow, insertApiKey, selectOrganizationByName } from './store.ts';

/** Properties of a new API key. */
export interface NewKey {
  /** Name of the organization that owns the key. */
  organization: string;
  name: string;
  scopes: readonly Scope[];
  /** Model ids that the key may use; null: all. */
  models: readonly string[] | null;
  /** Lifetime; null: unlimited. */
  expiresInSeconds: number | null;
}

/** Public properties of a key: without secret and hash. */
export interface KeyView {
  id: string;
  organization_id: string;
  name: string;
  /** Last four characters of the key. */
  hint: string;
  scopes: string[];
  models: string[] | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
}

/**
 * Creates an API key and returns its secret as `key`, which is not stored. `secret` replaces the generated secret. Throws an
 * `OperatorError` when the organization does not exist.
 */
export async function createKey(
  deps: { db: Database },
  properties: NewKey,
  secret: string | null = null,
): Promise<KeyView & { key: string }> {
  const organization = await selectOrganizationByName(deps.db.sql, properties.organization);
  if (organization === null) {
    throw new OperatorError(
      `There is no organization '${properties.organization}'. 'quire orgs list' lists the organizations.`,
    );
  }
  const key = secret ?? generateKey();
  // Both times come from this clock: the clock of the database may differ, which would shorten the lifetime.
  const createdAt = new Date();
  const lifetimeSeconds = properties.expiresInSeconds;
  const row = await insertApiKey(deps.db.sql, {
    id: newId('apiKey'),
    organizationId: organization.id,
    name: properties.name,
    hash: hashKey(key),
    hint: key.slice(-4),
    scopes: [...properties.scopes],
    models: properties.models === null ? null : [...properties.models],
    createdAt,
    expiresAt: lifetimeSeconds === null ? null : new Date(createdAt.getTime() + lifetimeSeconds * 1000),
  });
  return { ...viewKey(row), key };
}

/** Converts a row to its public properties. */
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
