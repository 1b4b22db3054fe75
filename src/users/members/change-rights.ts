import { lockOrganization, revokeOwnedKeys } from '../../accounts/store.ts';
import { type Actor, recordChange } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import type { UserRole } from '../../lib/caller.ts';
import {
  countOwners,
  deleteMember,
  deleteMemberSessions,
  deletePasswordReset,
  selectMember,
  updateUser,
  upsertMember,
} from '../store.ts';

/** The membership of a user after a change. */
export interface MembershipChange {
  organizationId: string;
  userId: string;
  /** Null: the user leaves. */
  role: UserRole | null;
}

/**
 * Adds a member, changes its role or removes it: the only way to change memberships. Ends the open reset links of the
 * user, whose creators may have fewer rights than the user has afterwards. Revokes the user's own keys unless the role
 * may have some. Returns false, without a change, when the
 * organization would be left without an owner.
 */
export async function changeMembership(sql: Sql, change: MembershipChange, actor: Actor): Promise<boolean> {
  const { organizationId, userId, role } = change;
  const before = await lockRole(sql, organizationId, userId);
  if (before === role) return true;
  if (before === 'owner' && (await countOwners(sql, organizationId)) < 2) return false;
  if (role === null) {
    await deleteMember(sql, organizationId, userId);
    await deleteMemberSessions(sql, userId, organizationId);
  } else await upsertMember(sql, { organizationId, userId, role });
  await deletePasswordReset(sql, userId);
  if (role === null || role === 'viewer') await revokeOwnedKeys(sql, organizationId, userId);
  await recordChange(sql, actor, {
    action: role === null ? 'member.removed' : before === null ? 'member.added' : 'member.updated',
    organizationId,
    resourceId: userId,
    ...(role !== null && { changes: [{ field: 'role', ...(before !== null && { from: before }), to: role }] }),
  });
  return true;
}

/**
 * The role of a user, null without one. Until the transaction ends, no other one changes members of the organization:
 * of two owners who leave at the same moment, the second one is counted after the first one has left.
 */
export async function lockRole(sql: Sql, organizationId: string, userId: string): Promise<UserRole | null> {
  await lockOrganization(sql, organizationId);
  return (await selectMember(sql, organizationId, userId))?.role ?? null;
}

/** Makes a user an operator, and ends its open reset links. */
export async function makeOperator(sql: Sql, userId: string, actor: Actor): Promise<void> {
  await updateUser(sql, userId, { isOperator: true });
  await deletePasswordReset(sql, userId);
  await recordChange(sql, actor, { action: 'user.made_operator', organizationId: '', resourceId: userId });
}
