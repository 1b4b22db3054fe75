import { and, asc, eq, gt, inArray, isNull, lte, or, type SQL, sql as tag } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { FailedStatement } from '../db/failed-statement.ts';
import { notify } from '../db/notifications.ts';
import { nameContains, type PageBounds, pageOrder } from '../db/page.ts';
import { UNIQUE_VIOLATION } from '../db/sql-states.ts';
import type { RateLimits } from '../lib/caller.ts';
import { apiKeys, organizations } from './tables.ts';

export type OrganizationRow = typeof organizations.$inferSelect;
export type ApiKeyRow = typeof apiKeys.$inferSelect;

/** Inserts an organization; resolves with false when the name exists. */
export async function insertOrganization(
  sql: Sql,
  id: string,
  name: string,
  limits: RateLimits | null = null,
): Promise<boolean> {
  const rows = await sql
    .insert(organizations)
    .values({ id, name, limits })
    .onConflictDoNothing()
    .returning({ id: organizations.id });
  return rows.length === 1;
}

/** Selects organizations that are not deleted, oldest first, by name or a part of it (`search`). */
export function selectOrganizations(
  sql: Sql,
  bounds: PageBounds,
  { name, search }: { name?: string | undefined; search?: string | undefined } = {},
): Promise<OrganizationRow[]> {
  return sql
    .select()
    .from(organizations)
    .where(
      and(
        isNull(organizations.deletedAt),
        name === undefined ? undefined : eq(organizations.name, name),
        nameContains(organizations.name, search),
        bounds.after === null ? undefined : gt(organizations.id, bounds.after),
      ),
    )
    .orderBy(asc(organizations.id))
    .limit(bounds.limit + 1);
}

/** Selects an organization; null when it does not exist or is deleted. */
export async function selectOrganization(sql: Sql, id: string): Promise<OrganizationRow | null> {
  const [row] = await sql.select().from(organizations).where(isOrganization(id));
  return row ?? null;
}

/** Like `selectOrganization`, locked against other writers until the transaction ends. */
export async function lockOrganization(sql: Sql, id: string): Promise<OrganizationRow | null> {
  const [row] = await sql.select().from(organizations).where(isOrganization(id)).for('no key update');
  return row ?? null;
}

/** Like `lockOrganization`, for deleted organizations, too. */
export async function lockOrganizationOfAnyState(sql: Sql, id: string): Promise<OrganizationRow | null> {
  const [row] = await sql.select().from(organizations).where(eq(organizations.id, id)).for('no key update');
  return row ?? null;
}

/** Marks an organization as deleted, revokes its keys, notifies all processes. The next purge deletes its data. */
export async function markOrganizationDeleted(sql: Sql, id: string, at: Date): Promise<void> {
  await sql.update(organizations).set({ deletedAt: at, purgeAt: at }).where(eq(organizations.id, id));
  await sql
    .update(apiKeys)
    .set({ revokedAt: at })
    .where(and(eq(apiKeys.organizationId, id), isNull(apiKeys.revokedAt)));
  await notify(sql, 'quire_api_keys', id);
}

/** A deleted organization. */
export interface DeletedOrganizationRow {
  id: string;
  deletedAt: Date;
}

/** Selects deleted organizations whose purge is due, the longest waiting first. */
export async function selectDuePurges(sql: Sql, now: Date, limit: number): Promise<DeletedOrganizationRow[]> {
  const rows = await sql
    .select({ id: organizations.id, deletedAt: organizations.deletedAt })
    .from(organizations)
    .where(lte(organizations.purgeAt, now))
    .orderBy(asc(organizations.purgeAt))
    .limit(limit);
  return rows.flatMap(({ id, deletedAt }) => (deletedAt === null ? [] : [{ id, deletedAt }]));
}

/** Sets the time of the next purge of a deleted organization; null: none. */
export async function updatePurge(sql: Sql, id: string, purgeAt: Date | null): Promise<void> {
  await sql.update(organizations).set({ purgeAt }).where(eq(organizations.id, id));
}

/**
 * Updates name and limits, and notifies every process. Returns false when another organization has the name; the
 * transaction has failed then and must be rolled back.
 */
export async function updateOrganizationRow(
  sql: Sql,
  { id, name, limits }: Pick<OrganizationRow, 'id' | 'name' | 'limits'>,
): Promise<boolean> {
  try {
    await sql.update(organizations).set({ name, limits }).where(eq(organizations.id, id));
  } catch (error) {
    if (error instanceof FailedStatement && error.code === UNIQUE_VIOLATION) return false;
    throw error;
  }
  await notify(sql, 'quire_api_keys', id);
  return true;
}

/** Selects an organization by name; null when it does not exist or is deleted. */
export async function selectOrganizationByName(sql: Sql, name: string): Promise<OrganizationRow | null> {
  const [row] = await sql
    .select()
    .from(organizations)
    .where(and(eq(organizations.name, name), isNull(organizations.deletedAt)));
  return row ?? null;
}

const isOrganization = (id: string) => and(eq(organizations.id, id), isNull(organizations.deletedAt));

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

/** Selects the id of the oldest active key while no key of the instance has been used; otherwise null. */
export async function selectOldestUnusedKey(sql: Sql): Promise<string | null> {
  const [row] = await sql
    .select({
      id: tag<string | null>`min(${apiKeys.id}) filter (where ${apiKeys.revokedAt} is null)`,
      used: tag<boolean>`bool_or(${apiKeys.lastUsedAt} is not null)`,
    })
    .from(apiKeys);
  return row === undefined || row.used ? null : row.id;
}

/** A key with the limits of its organization. */
export interface KeyWithOrganization {
  row: ApiKeyRow;
  organizationLimits: RateLimits | null;
}

/**
 * Selects a key by the SHA-256 (hexadecimal) of its secret or of the secret before its last rotation, including revoked
 * and expired keys; null when it does not exist or its organization is deleted.
 */
export function selectApiKeyByHash(sql: Sql, hash: string): Promise<KeyWithOrganization | null> {
  return selectKeyWithOrganization(sql, or(eq(apiKeys.hash, hash), eq(apiKeys.previousHash, hash)));
}

/** The same by the id of the key. */
export function selectApiKeyById(sql: Sql, id: string): Promise<KeyWithOrganization | null> {
  return selectKeyWithOrganization(sql, eq(apiKeys.id, id));
}

async function selectKeyWithOrganization(sql: Sql, condition: SQL | undefined): Promise<KeyWithOrganization | null> {
  const [key] = await sql
    .select({ row: apiKeys, organizationLimits: organizations.limits })
    .from(apiKeys)
    .innerJoin(organizations, and(eq(organizations.id, apiKeys.organizationId), isNull(organizations.deletedAt)))
    .where(condition);
  return key ?? null;
}

/** Names of API keys, as pairs with their ids. */
export async function selectKeyNames(sql: Sql, ids: readonly string[]): Promise<[string, string][]> {
  const rows = await sql
    .select({ id: apiKeys.id, name: apiKeys.name })
    .from(apiKeys)
    .where(inArray(apiKeys.id, [...ids]));
  return rows.map(({ id, name }) => [id, name]);
}

/** Selects a key by its id; null when it does not exist. */
export async function selectApiKey(sql: Sql, id: string): Promise<ApiKeyRow | null> {
  const [row] = await sql.select().from(apiKeys).where(eq(apiKeys.id, id));
  return row ?? null;
}

/** Like `selectApiKey`, locked against other writers until the transaction ends. */
export async function lockApiKey(sql: Sql, id: string): Promise<ApiKeyRow | null> {
  const [row] = await sql.select().from(apiKeys).where(eq(apiKeys.id, id)).for('no key update');
  return row ?? null;
}

/** Updates fields of a key and notifies every process when the transaction commits. */
export async function updateApiKey(sql: Sql, id: string, changes: Partial<ApiKeyRow>): Promise<void> {
  await sql.update(apiKeys).set(changes).where(eq(apiKeys.id, id));
  await notify(sql, 'quire_api_keys', id);
}

/** Revokes the keys that a person has made for itself in an organization, and notifies every process. */
export async function revokeOwnedKeys(sql: Sql, organizationId: string, userId: string): Promise<void> {
  const isOwned = and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.ownerId, userId));
  await sql
    .update(apiKeys)
    .set({ revokedAt: new Date() })
    .where(and(isOwned, isNull(apiKeys.revokedAt)));
  await notify(sql, 'quire_api_keys', organizationId);
}

/** Stores the last uses of keys (milliseconds since 1970, by key id) in one statement. */
export async function updateLastUses(sql: Sql, uses: ReadonlyMap<string, number>): Promise<void> {
  const ids = tag.param([...uses.keys()]);
  const times = tag.param([...uses.values()].map((time) => new Date(time).toISOString()));
  await sql.execute(tag`
    update ${apiKeys} set last_used_at = greatest(last_used_at, used.at)
    from unnest(${ids}::text[], ${times}::timestamptz[]) as used (key_id, at)
    where id = used.key_id`);
}

/** Conditions on keys. `organizationId`: null selects the keys of all organizations. `search`: absent selects all. */
export interface ApiKeyFilter {
  organizationId: string | null;
  search?: string | undefined;
  order?: 'asc' | 'desc' | undefined;
}

/** Selects keys. */
export function selectApiKeys(
  sql: Sql,
  { organizationId, search, order }: ApiKeyFilter,
  bounds: PageBounds,
): Promise<ApiKeyRow[]> {
  const { isAfter, orderBy } = pageOrder(apiKeys.id, bounds, order);
  return sql
    .select()
    .from(apiKeys)
    .where(
      and(
        organizationId === null ? undefined : eq(apiKeys.organizationId, organizationId),
        search === undefined
          ? undefined
          : or(nameContains(apiKeys.name, search), eq(apiKeys.id, search), eq(apiKeys.hint, search)),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}
