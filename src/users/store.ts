import { and, asc, eq, gt, ilike, inArray, isNull, lt, ne, or } from 'drizzle-orm';
import { organizations } from '../accounts/tables.ts';
import type { Sql } from '../db/db.ts';
import type { PageBounds } from '../db/page.ts';
import type { UserRole } from '../lib/caller.ts';
import { invitations, members, passwordResets, sessions, users } from './tables.ts';

export type UserRow = typeof users.$inferSelect;
export type MemberRow = typeof members.$inferSelect;
export type InvitationRow = typeof invitations.$inferSelect;
export type SessionRow = typeof sessions.$inferSelect;
export type PasswordResetRow = typeof passwordResets.$inferSelect;

/** Selects a user by email, lower case; null when none exists. */
export async function selectUserByEmail(sql: Sql, email: string): Promise<UserRow | null> {
  const [row] = await sql.select().from(users).where(eq(users.email, email));
  return row ?? null;
}

/** Selects a user; null when none exists. */
export async function selectUser(sql: Sql, id: string): Promise<UserRow | null> {
  const [row] = await sql.select().from(users).where(eq(users.id, id));
  return row ?? null;
}

/** Like `selectUser`, locked against other writers until the transaction ends. */
export async function lockUser(sql: Sql, id: string): Promise<UserRow | null> {
  const [row] = await sql.select().from(users).where(eq(users.id, id)).for('no key update');
  return row ?? null;
}

/** Emails of users, as pairs with their ids. */
export async function selectUserEmails(sql: Sql, ids: readonly string[]): Promise<[string, string][]> {
  const rows = await sql
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(inArray(users.id, [...ids]));
  return rows.map(({ id, email }) => [id, email]);
}

/** Selects users whose email or name contains `search`, oldest first; every user when it is null. */
export function selectUsers(sql: Sql, search: string | null, bounds: PageBounds): Promise<UserRow[]> {
  const pattern = `%${(search ?? '').replace(/[\\%_]/g, '\\$&')}%`;
  return sql
    .select()
    .from(users)
    .where(
      and(
        search === null ? undefined : or(ilike(users.email, pattern), ilike(users.name, pattern)),
        bounds.after === null ? undefined : gt(users.id, bounds.after),
      ),
    )
    .orderBy(asc(users.id))
    .limit(bounds.limit + 1);
}

/** Stores the token of a password reset, instead of an earlier one of the user. */
export async function upsertPasswordReset(sql: Sql, row: PasswordResetRow): Promise<void> {
  await sql.insert(passwordResets).values(row).onConflictDoUpdate({ target: passwordResets.userId, set: row });
}

/** Whether a password reset is valid. */
export async function hasPasswordReset(sql: Sql, tokenHash: string, now: Date): Promise<boolean> {
  const isValid = and(eq(passwordResets.tokenHash, tokenHash), gt(passwordResets.expiresAt, now));
  return (await sql.select({ userId: passwordResets.userId }).from(passwordResets).where(isValid)).length > 0;
}

/** Deletes a password reset and returns it: a link works once. Null when none is valid. */
export async function takePasswordReset(sql: Sql, tokenHash: string, now: Date): Promise<PasswordResetRow | null> {
  const [row] = await sql
    .delete(passwordResets)
    .where(and(eq(passwordResets.tokenHash, tokenHash), gt(passwordResets.expiresAt, now)))
    .returning();
  return row ?? null;
}

/** Deletes the password reset of a user. */
export async function deletePasswordReset(sql: Sql, userId: string): Promise<void> {
  await sql.delete(passwordResets).where(eq(passwordResets.userId, userId));
}

/** Whether the instance has any user. */
export async function hasAnyUser(sql: Sql): Promise<boolean> {
  return (await sql.select({ id: users.id }).from(users).limit(1)).length > 0;
}

/** Inserts a user. */
export async function insertUser(sql: Sql, row: Omit<UserRow, 'createdAt'>): Promise<void> {
  await sql.insert(users).values(row);
}

/** Changes fields of a user. */
export async function updateUser(sql: Sql, id: string, changes: Partial<UserRow>): Promise<void> {
  await sql.update(users).set(changes).where(eq(users.id, id));
}

/** A session with its user, the role of the user in the organization of the session, and the organization's limits. */
export interface OpenSession {
  session: SessionRow;
  user: UserRow;
  role: UserRole | null;
  organizationLimits: (typeof organizations.$inferSelect)['limits'];
}

/** Selects a session that has not expired, of an organization that is not deleted; null when none exists. */
export async function selectSession(sql: Sql, tokenHash: string, now: Date): Promise<OpenSession | null> {
  const [row] = await sql
    .select({ session: sessions, user: users, role: members.role, organizationLimits: organizations.limits })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .innerJoin(organizations, eq(organizations.id, sessions.organizationId))
    .leftJoin(members, and(eq(members.userId, users.id), eq(members.organizationId, sessions.organizationId)))
    .where(and(eq(sessions.tokenHash, tokenHash), gt(sessions.expiresAt, now), isNull(organizations.deletedAt)));
  return row ?? null;
}

/** Locks a session against its end until the transaction ends. */
export async function lockSession(sql: Sql, tokenHash: string): Promise<void> {
  await sql.select({ id: sessions.id }).from(sessions).where(eq(sessions.tokenHash, tokenHash)).for('update');
}

/** Inserts a session. */
export async function insertSession(sql: Sql, row: SessionRow): Promise<void> {
  await sql.insert(sessions).values(row);
}

/** Changes fields of a session. */
export async function updateSession(sql: Sql, tokenHash: string, changes: Partial<SessionRow>): Promise<void> {
  await sql.update(sessions).set(changes).where(eq(sessions.tokenHash, tokenHash));
}

/** Deletes a session. */
export async function deleteSession(sql: Sql, tokenHash: string): Promise<void> {
  await sql.delete(sessions).where(eq(sessions.tokenHash, tokenHash));
}

/** Deletes the sessions of a user, except one. */
export async function deleteUserSessions(sql: Sql, userId: string, exceptTokenHash?: string): Promise<void> {
  const isOther = exceptTokenHash === undefined ? undefined : ne(sessions.tokenHash, exceptTokenHash);
  await sql.delete(sessions).where(and(eq(sessions.userId, userId), isOther));
}

/** Deletes a session of a user. False when none exists. */
export async function deleteSessionById(sql: Sql, userId: string, id: string): Promise<boolean> {
  const rows = await sql
    .delete(sessions)
    .where(and(eq(sessions.userId, userId), eq(sessions.id, id)))
    .returning({ id: sessions.id });
  return rows.length === 1;
}

/** Selects the sessions of a user that have not expired, oldest first. */
export function selectUserSessions(sql: Sql, userId: string, now: Date, bounds: PageBounds): Promise<SessionRow[]> {
  const isAfter = bounds.after === null ? undefined : gt(sessions.id, bounds.after);
  return sql
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now), isAfter))
    .orderBy(asc(sessions.id))
    .limit(bounds.limit + 1);
}

/** Deletes the sessions of a user in one organization. */
export async function deleteMemberSessions(sql: Sql, userId: string, organizationId: string): Promise<void> {
  await sql.delete(sessions).where(and(eq(sessions.userId, userId), eq(sessions.organizationId, organizationId)));
}

/** Deletes sessions, invitations and password resets that have expired. */
export async function deleteExpired(sql: Sql, now: Date): Promise<void> {
  await sql.delete(sessions).where(lt(sessions.expiresAt, now));
  await sql.delete(invitations).where(lt(invitations.expiresAt, now));
  await sql.delete(passwordResets).where(lt(passwordResets.expiresAt, now));
}

/** Deletes members, invitations, sessions and password resets of an organization. Users may belong to others. */
export async function deletePeople(sql: Sql, organizationId: string): Promise<void> {
  for (const table of [sessions, invitations, passwordResets, members]) {
    await sql.delete(table).where(eq(table.organizationId, organizationId));
  }
}

/** An organization of a user. */
export interface Membership {
  id: string;
  name: string;
  role: UserRole;
}

/** Selects the organizations of a user, by name. */
export function selectMemberships(sql: Sql, userId: string): Promise<Membership[]> {
  return sql
    .select({ id: organizations.id, name: organizations.name, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.organizationId))
    .where(and(eq(members.userId, userId), isNull(organizations.deletedAt)))
    .orderBy(asc(organizations.name));
}

/** A member of an organization. */
export interface MemberUser {
  user: UserRow;
  role: UserRole;
}

/** Selects members of an organization, in the order of their user ids. */
export function selectMembers(sql: Sql, organizationId: string, bounds: PageBounds): Promise<MemberUser[]> {
  return sql
    .select({ user: users, role: members.role })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(
      and(
        eq(members.organizationId, organizationId),
        bounds.after === null ? undefined : gt(members.userId, bounds.after),
      ),
    )
    .orderBy(asc(members.userId))
    .limit(bounds.limit + 1);
}

/** Selects a member of an organization; null for a user who is no member. */
export async function selectMember(sql: Sql, organizationId: string, userId: string): Promise<MemberRow | null> {
  const [row] = await sql
    .select()
    .from(members)
    .where(and(eq(members.organizationId, organizationId), eq(members.userId, userId)));
  return row ?? null;
}

/** Counts the owners of an organization. */
export async function countOwners(sql: Sql, organizationId: string): Promise<number> {
  return sql.$count(members, and(eq(members.organizationId, organizationId), eq(members.role, 'owner')));
}

/** Adds a member, or changes the role of one. */
export async function upsertMember(sql: Sql, row: Omit<MemberRow, 'createdAt'>): Promise<void> {
  await sql
    .insert(members)
    .values(row)
    .onConflictDoUpdate({ target: [members.organizationId, members.userId], set: { role: row.role } });
}

/** Removes a member. */
export async function deleteMember(sql: Sql, organizationId: string, userId: string): Promise<void> {
  await sql.delete(members).where(and(eq(members.organizationId, organizationId), eq(members.userId, userId)));
}

/** Inserts an invitation. */
export async function insertInvitation(sql: Sql, row: Omit<InvitationRow, 'createdAt'>): Promise<InvitationRow> {
  const [inserted] = await sql.insert(invitations).values(row).returning();
  if (inserted === undefined) throw new Error('inserting an invitation returned no row');
  return inserted;
}

/** Whether an invitation is valid. */
export async function hasInvitation(sql: Sql, tokenHash: string, now: Date): Promise<boolean> {
  const isValid = and(eq(invitations.tokenHash, tokenHash), gt(invitations.expiresAt, now));
  return (await sql.select({ id: invitations.id }).from(invitations).where(isValid)).length > 0;
}

/** Deletes an invitation and returns it: a link works once. Null when none exists. */
export async function takeInvitation(sql: Sql, tokenHash: string, now: Date): Promise<InvitationRow | null> {
  const [row] = await sql
    .delete(invitations)
    .where(and(eq(invitations.tokenHash, tokenHash), gt(invitations.expiresAt, now)))
    .returning();
  return row ?? null;
}

/** Deletes all invitations of operators. */
export async function deleteOperatorInvitations(sql: Sql): Promise<void> {
  await sql.delete(invitations).where(eq(invitations.isOperator, true));
}

/** Selects open invitations of an organization, oldest first. */
export function selectInvitations(
  sql: Sql,
  organizationId: string,
  now: Date,
  bounds: PageBounds,
): Promise<InvitationRow[]> {
  return sql
    .select()
    .from(invitations)
    .where(
      and(
        eq(invitations.organizationId, organizationId),
        gt(invitations.expiresAt, now),
        bounds.after === null ? undefined : gt(invitations.id, bounds.after),
      ),
    )
    .orderBy(asc(invitations.id))
    .limit(bounds.limit + 1);
}

/** Deletes an invitation of an organization. False when none exists. */
export async function deleteInvitation(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const rows = await sql
    .delete(invitations)
    .where(and(eq(invitations.organizationId, organizationId), eq(invitations.id, id)))
    .returning({ id: invitations.id });
  return rows.length === 1;
}
