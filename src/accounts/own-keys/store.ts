import { and, desc, eq, gt, isNull, or } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { ApiKeyRow } from '../store.ts';
import { apiKeys, keyPolicies } from '../tables.ts';

/** A row of `key_policies`. */
export type KeyPolicyRow = typeof keyPolicies.$inferSelect;

/** A person in an organization. */
export interface KeyOwner {
  organizationId: string;
  userId: string;
}

/** The policy of an organization; null: people make no keys. */
export async function selectKeyPolicy(sql: Sql, organizationId: string): Promise<KeyPolicyRow | null> {
  const [row] = await sql.select().from(keyPolicies).where(eq(keyPolicies.organizationId, organizationId));
  return row ?? null;
}

/** Adds or replaces the policy of an organization. */
export async function upsertKeyPolicy(sql: Sql, row: KeyPolicyRow): Promise<void> {
  const { organizationId: _, ...set } = row;
  await sql.insert(keyPolicies).values(row).onConflictDoUpdate({ target: keyPolicies.organizationId, set });
}

/** Deletes the policy of an organization. */
export async function deleteKeyPolicy(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(keyPolicies).where(eq(keyPolicies.organizationId, organizationId));
}

const isOwned = ({ organizationId, userId }: KeyOwner) =>
  and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.ownerId, userId));

/** The newest keys of a person, with revoked and expired ones. */
export function selectOwnKeys(sql: Sql, owner: KeyOwner, limit: number): Promise<ApiKeyRow[]> {
  return sql.select().from(apiKeys).where(isOwned(owner)).orderBy(desc(apiKeys.id)).limit(limit);
}

/** Number of the keys of a person that worked at some time after `since`. */
export function countOwnKeys(sql: Sql, owner: KeyOwner, since: Date): Promise<number> {
  const isAlive = and(
    or(isNull(apiKeys.revokedAt), gt(apiKeys.revokedAt, since)),
    or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, since)),
  );
  return sql.$count(apiKeys, and(isOwned(owner), isAlive));
}
