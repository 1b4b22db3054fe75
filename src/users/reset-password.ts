import { recordChange, toActor } from '../audit/record-change.ts';
import type { Sql } from '../db/db.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { insufficientScope, invalidPasswordReset, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { requireOwner } from './invitations.ts';
import { hashPassword } from './password.ts';
import type { PasswordReset, RedeemPasswordReset, User } from './schema.ts';
import { type ClientRequest, listUserOrganizations, openSession, type SessionDeps } from './sessions.ts';
import {
  deleteUserSessions,
  hasPasswordReset,
  lockMember,
  selectMemberships,
  selectUser,
  selectUsers,
  takePasswordReset,
  type UserRow,
  updateUser,
  upsertPasswordReset,
} from './store.ts';
import { hashToken, newToken } from './tokens.ts';

/** Lifetime of a link that sets a password. */
const RESET_MS = 86_400_000;

/** A page of the users of the instance, whose email or name contains `search`. */
export async function listUsers({ db }: Pick<Deps, 'db'>, query: ListQuery & { search?: string }) {
  const bounds = pageBounds(query, 'user');
  const rows = await selectUsers(db.sql, query.search ?? null, bounds);
  return page(rows.map(viewUser), bounds.limit);
}

/**
 * Creates the one-time token of a link that sets the password of a user; earlier ones end. Throws 404 `user_not_found` for users whom the
 * caller does not see, and 403 unless the caller is an operator or an owner of the only organization of the user.
 */
export async function createPasswordReset(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  call: Call,
  userId: string,
): Promise<PasswordReset> {
  requireOwner(call);
  const token = newToken();
  const expiresAt = new Date(now() + RESET_MS);
  await db.sql.transaction(async (sql) => {
    await requireResettable(sql, call, userId);
    await upsertPasswordReset(sql, { userId, tokenHash: hashToken(token), expiresAt });
    const { organizationId } = call.caller;
    await recordChange(sql, toActor(call), {
      action: 'user.password_reset_created',
      organizationId,
      resourceId: userId,
    });
  });
  return { object: 'password_reset', user_id: userId, token, expires_at: toUnixSeconds(expiresAt) };
}

/** Owners who reset the password of a user of several organizations, or of an operator, would enter more than they own. */
async function requireResettable(sql: Sql, { caller }: Call, userId: string): Promise<void> {
  const user = await selectUser(sql, userId);
  const isOperator = caller.scopes.has('admin');
  const isVisible = isOperator || (await lockMember(sql, caller.organizationId, userId)) !== null;
  if (user === null || !isVisible) throw notFound('user', userId, 'user_id');
  if (isOperator) return;
  if (user.isOperator || (await selectMemberships(sql, userId)).length > 1) {
    throw insufficientScope(
      'Only an operator resets the password of this user, who has rights beyond this organization.',
      'user_id',
    );
  }
}

/** Sets the password of a link, and ends all sessions of the user. Returns the token of a new session. Throws 400 `invalid_password_reset`. */
export async function redeemPasswordReset(
  deps: SessionDeps,
  { address, requestId }: ClientRequest,
  { token, new_password: password }: RedeemPasswordReset,
): Promise<string> {
  // Before the hash, which is expensive.
  const tokenHash = hashToken(token);
  // A hash costs 0.3 s and 128 MiB: none for unknown tokens.
  if (!(await hasPasswordReset(deps.db.sql, tokenHash, new Date(deps.now())))) throw invalidPasswordReset();
  const passwordHash = await hashPassword(password, deps.passwordCost);
  const user = await deps.db.sql.transaction(async (sql) => {
    const userId = await takePasswordReset(sql, tokenHash, new Date(deps.now()));
    const found = userId === null ? null : await selectUser(sql, userId);
    if (found === null) throw invalidPasswordReset();
    await updateUser(sql, found.id, { passwordHash });
    await deleteUserSessions(sql, found.id);
    const actor = { id: found.id, address, requestId };
    await recordChange(sql, actor, { action: 'user.password_changed', organizationId: '', resourceId: found.id });
    return found;
  });
  const [organization] = await listUserOrganizations(deps, user);
  if (organization === undefined) throw invalidPasswordReset();
  return openSession(deps, user.id, organization.id);
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
