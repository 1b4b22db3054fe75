import { recordChange, toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { insufficientScope, invalidPasswordReset, notFound } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { hashPassword } from '../password.ts';
import type { PasswordReset, RedeemPasswordReset, User } from '../schema.ts';
import { type ClientRequest, userActor } from '../sessions/client-request.ts';
import { replacePassword } from '../sessions/replace-password.ts';
import { listUserOrganizations, openSession, type SessionDeps } from '../sessions/sessions.ts';
import {
  hasPasswordReset,
  lockUser,
  selectMember,
  selectMemberships,
  selectUser,
  selectUsers,
  takePasswordReset,
  type UserRow,
  upsertPasswordReset,
} from '../store.ts';
import { hashToken, newToken } from '../tokens.ts';
import { requireOwner } from './invitations.ts';
import { isCreatorEntitled } from './link-creator.ts';

/** Lifetime of a link that sets a password. */
const RESET_MS = 86_400_000;

/** A page of the users of the instance, whose email or name contains `search`. */
export async function listUsers({ db }: Pick<Deps, 'db'>, query: ListQuery & { search?: string }) {
  const bounds = pageBounds(query, 'user');
  const rows = await selectUsers(db.sql, query.search ?? null, bounds);
  return page(rows.map(viewUser), bounds.limit);
}

/**
 * Creates the one-time token of a link that sets the password of a user; earlier ones end. Throws 404 `user_not_found`
 * for users whom the caller does not see, and 403 unless the caller is an operator or an owner of the only organization
 * of the user.
 */
export async function createPasswordReset(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  call: Call,
  userId: string,
): Promise<PasswordReset> {
  requireOwner(call);
  const { organizationId, keyId: createdBy, scopes } = call.caller;
  const ownedBy = scopes.has('admin') ? null : organizationId;
  const token = newToken();
  const expiresAt = new Date(now() + RESET_MS);
  await db.sql.transaction(async (sql) => {
    const user = await selectUser(sql, userId);
    const isVisible = ownedBy === null || (await selectMember(sql, ownedBy, userId)) !== null;
    if (user === null || !isVisible) throw notFound('user', userId, 'user_id');
    if (!(await isCoveredBy(sql, user, ownedBy))) {
      throw insufficientScope(
        'Only an operator resets the password of this user, who has rights beyond this organization.',
        'user_id',
      );
    }
    const row = { userId, tokenHash: hashToken(token), createdBy, organizationId: ownedBy, expiresAt };
    await upsertPasswordReset(sql, row);
    await recordChange(sql, toActor(call), {
      action: 'user.password_reset_created',
      organizationId,
      resourceId: userId,
    });
  });
  return { object: 'password_reset', user_id: userId, token, expires_at: toUnixSeconds(expiresAt) };
}

/** Whether a user has no rights beyond the creator of a link: an owner of the organization, or (null) an operator. */
async function isCoveredBy(sql: Sql, user: UserRow, organizationId: string | null): Promise<boolean> {
  if (organizationId === null) return true;
  const memberships = await selectMemberships(sql, user.id);
  return !user.isOperator && memberships.length === 1 && memberships[0]?.id === organizationId;
}

/** Takes a link and returns its user, locked. Throws 400 if it is invalid, or its creator may not reset the user. */
async function takeResettableUser(sql: Sql, tokenHash: string, now: Date): Promise<UserRow> {
  const reset = await takePasswordReset(sql, tokenHash, now);
  const user = reset === null ? null : await lockUser(sql, reset.userId);
  // Without a creator: from an earlier version.
  if (reset === null || user === null || reset.createdBy === null) throw invalidPasswordReset();
  const { createdBy, organizationId } = reset;
  const isAllowed =
    (await isCreatorEntitled(sql, createdBy, organizationId, now)) && (await isCoveredBy(sql, user, organizationId));
  if (!isAllowed) throw invalidPasswordReset();
  return user;
}

/** Sets the password by a link, ends all sessions of the user, returns a new one. Throws 400 for an invalid link. */
export async function redeemPasswordReset(
  deps: SessionDeps,
  client: ClientRequest,
  { token, new_password: password, remove_identities: removesIdentities = false }: RedeemPasswordReset,
): Promise<string> {
  const tokenHash = hashToken(token);
  // A hash costs 0.3 s and 128 MiB: none for unknown tokens.
  if (!(await hasPasswordReset(deps.db.sql, tokenHash, new Date(deps.now())))) throw invalidPasswordReset();
  const passwordHash = await hashPassword(password, deps.passwordCost, client.address);
  const user = await deps.db.sql.transaction(async (sql) => {
    const resettable = await takeResettableUser(sql, tokenHash, new Date(deps.now()));
    const { id: userId } = resettable;
    await replacePassword(sql, { userId, passwordHash, removesIdentities }, userActor(userId, client));
    return resettable;
  });
  const [organization] = await listUserOrganizations(deps, user);
  if (organization === undefined) throw invalidPasswordReset();
  return openSession(deps, client, user.id, organization.id);
}

function viewUser(row: UserRow): User {
  return {
    id: row.id,
    object: 'user',
    email: row.email,
    name: row.name,
    is_operator: row.isOperator,
    has_password: row.passwordHash !== null,
    created_at: toUnixSeconds(row.createdAt),
  };
}
