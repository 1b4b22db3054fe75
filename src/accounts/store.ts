import { and, asc, eq, gt, isNull } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import type { PageBounds } from '../db/page.ts';
import type { RateLimits } from '../lib/caller.ts';
import { apiKeys, organizations } from './tables.ts';

export type OrganizationRow = typeof organizations.$inferSelect;
export type ApiKeyRow = typeof apiKeys.$inferSelect;

/** Inserts an organization; resolves with false when the name exists. */
export async function insertOrganization(sql: Sql, id: string, name: string): Promise<boolean> {
  const rows = await sql
    .insert(organizations)
    .values({ id, name })
    .onConflictDoNothing()
    .returning({ id: organizations.id });
  return rows.length === 1;
}

/** Selects organizations, oldest first. */
export function selectOrganizations(sql: Sql, bounds: PageBounds): Promise<OrganizationRow[]> {
  return sql
    .select()
    .from(organizations)
    .where(bounds.after === null ? undefined : gt(organizations.id, bounds.after))
    .orderBy(asc(organizations.id))
    .limit(bounds.limit + 1);
}

/** Selects an organization by name; null when it does not exist. */
export async function selectOrganizationByName(sql: Sql, name: string): Promise<OrganizationRow | null> {
  const [row] = await sql.select().from(organizations).where(eq(organizations.name, name));
  return row ?? null;
}

/** Inserts an API key. */
export async function insertApiKey(sql: Sql, row: typeof apiKeys.$inferInsert): Promise<ApiKeyRow> {
  const [inserted] = await sql.insert(apiKeys).values(row).returning();
  if (inserted === undefined) throw new Error('inserting a key returned no row');
  return inserted;
}

/** Whether the instance has any API key. */
export async function hasAnyApiKey(sql: Sql): Promise<boolean> {
  return (await sql.select({ id: apiKeys.id }).from(apiKeys).limit(1)).length > 0;
}

/** A key with the limits of its organization. */
export interface KeyWithOrganization {
  row: ApiKeyRow;
  organizationLimits: RateLimits | null;
}

/** Selects a key by its SHA-256 (hexadecimal), including revoked and expired keys; null when it does not exist. */
export async function selectApiKeyByHash(sql: Sql, hash: string): Promise<KeyWithOrganization | null> {
  const [found] = await sql
    .select({ row: apiKeys, organizationLimits: organizations.limits })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.id, apiKeys.organizationId))
    .where(eq(apiKeys.hash, hash));
  return found ?? null;
}

/** Selects the keys of one organization, or of all when `organizationId` is null, oldest first. */
export function selectApiKeys(sql: Sql, organizationId: string | null, bounds: PageBounds): Promise<ApiKeyRow[]> {
  return sql
    .select()
    .from(apiKeys)
    .where(
      and(
        organizationId === null ? undefined : eq(apiKeys.organizationId, organizationId),
        bounds.after === null ? undefined : gt(apiKeys.id, bounds.after),
      ),
    )
    .orderBy(asc(apiKeys.id))
    .limit(bounds.limit + 1);
}

/**
 * Revokes a key and notifies every process. Returns the row; null when the key does not exist. Idempotent: keeps the time of the first
 * time. Run it in a transaction.
 */
export async function updateRevoked(sql: Sql, id: string, at: Date): Promise<ApiKeyRow | null> {
  await sql
    .update(apiKeys)
    .set({ revokedAt: at })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)));
  await notify(sql, 'quire_api_keys', id);
  const [row] = await sql.select().from(apiKeys).where(eq(apiKeys.id, id));
  return row ?? null;
}
