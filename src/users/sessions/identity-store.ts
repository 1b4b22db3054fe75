import { and, asc, eq, gt } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { PageBounds } from '../../db/page.ts';
import type { UserRow } from '../store.ts';
import { userIdentities, users } from '../tables.ts';

export type IdentityRow = typeof userIdentities.$inferSelect;

/** Selects the user of a person of an OpenID Connect issuer; null when none is linked. */
export async function selectUserByIdentity(sql: Sql, issuer: string, subject: string): Promise<UserRow | null> {
  const [row] = await sql
    .select({ user: users })
    .from(userIdentities)
    .innerJoin(users, eq(users.id, userIdentities.userId))
    .where(and(eq(userIdentities.issuer, issuer), eq(userIdentities.subject, subject)));
  return row?.user ?? null;
}

/** Links a person of an issuer with a user. */
export async function insertIdentity(sql: Sql, row: Omit<IdentityRow, 'createdAt'>): Promise<void> {
  await sql.insert(userIdentities).values(row);
}

/** Whether a person of an issuer is linked with the user. */
export async function hasIdentity(sql: Sql, userId: string): Promise<boolean> {
  return (await selectIdentities(sql, userId, { limit: 0, after: null })).length > 0;
}

/** Selects the identities of a user, oldest first. */
export function selectIdentities(sql: Sql, userId: string, bounds: PageBounds): Promise<IdentityRow[]> {
  const isAfter = bounds.after === null ? undefined : gt(userIdentities.id, bounds.after);
  return sql
    .select()
    .from(userIdentities)
    .where(and(eq(userIdentities.userId, userId), isAfter))
    .orderBy(asc(userIdentities.id))
    .limit(bounds.limit + 1);
}

/** Deletes an identity of a user, or all of them without an id. Returns the deleted ones. */
export function deleteIdentities(sql: Sql, userId: string, id?: string): Promise<IdentityRow[]> {
  const isNamed = id === undefined ? undefined : eq(userIdentities.id, id);
  return sql
    .delete(userIdentities)
    .where(and(eq(userIdentities.userId, userId), isNamed))
    .returning();
}
