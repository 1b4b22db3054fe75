import type { Sql } from '../db/db.ts';
import type { KeyBudget, RateLimits, Scope } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { generateKey, hashKey, keyHint } from './api-key.ts';
import { type ApiKeyRow, insertApiKey } from './store.ts';

/** Properties of a new API key. */
export interface NewKey {
  organizationId: string;
  /** The person who makes it for itself; absent: a key of the organization. */
  ownerId?: string;
  name: string;
  scopes: readonly Scope[];
  /** Model ids that the key may use; null: all. */
  models: readonly string[] | null;
  /** Knowledge bases that the key may use; absent or null: all. */
  knowledgeBaseIds?: readonly string[] | null;
  /** Null: the default limits. */
  limits: RateLimits | null;
  /** Null: unlimited. */
  budget: KeyBudget | null;
  /** Null: never. */
  expiresAt: Date | null;
}

/** Adds an API key. Returns the row and the secret, which is not stored. `secret` replaces the generated one. */
export async function addKey(
  sql: Sql,
  properties: NewKey,
  secret: string = generateKey(),
): Promise<{ row: ApiKeyRow; secret: string }> {
  const row = await insertApiKey(sql, {
    ...properties,
    id: newId('apiKey'),
    hash: hashKey(secret),
    hint: keyHint(secret),
    scopes: [...properties.scopes],
    models: properties.models === null ? null : [...properties.models],
    knowledgeBaseIds: properties.knowledgeBaseIds ? [...properties.knowledgeBaseIds] : null,
    // The clock of the database may differ from the one of `expiresAt`, which would shorten the lifetime.
    createdAt: new Date(),
  });
  return { row, secret };
}
