import { lockOrganization } from '../accounts/store.ts';
import { recordChange, toActor } from '../audit/record-change.ts';
import type { Sql } from '../db/db.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call, UserRole } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { requireOwner } from './invitations.ts';
import type { DeletedMember, Member } from './schema.ts';
import {
  countOwners,
  deleteMember,
  deleteMemberSessions,
  lockMember,
  type MemberRow,
  type MemberUser,
  selectMembers,
  selectUser,
  upsertMember,
} from './store.ts';

/** A page of the members of the caller's organization. */
export async function listMembers({ db }: Pick<Deps, 'db'>, call: Call, query: ListQuery) {
  const bounds = pageBounds(query, 'user');
  const rows = await selectMembers(db.sql, call.caller.organizationId, bounds);
  return page(rows.map(viewMember), bounds.limit);
}

/** Changes the role of a member. Throws 404 `user_not_found`, 400 for the last owner, and 403 unless the caller is an owner. */
export async function changeRole(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  userId: string,
  role: UserRole,
): Promise<Member> {
  requireOwner(call);
  const { organizationId } = call.caller;
  return db.sql.transaction(async (sql) => {
    const member = await requireMember(sql, organizationId, userId);
    const user = await selectUser(sql, userId);
    if (user === null) throw notFound('user', userId, 'user_id');
    if (member.role === role) return viewMember({ user, role });
    if (member.role === 'owner') await requireOtherOwner(sql, organizationId, 'role');
    await upsertMember(sql, { organizationId, userId, role });
    const changes = [{ field: 'role', from: member.role, to: role }];
    await recordChange(sql, toActor(call), { action: 'member.updated', organizationId, resourceId: userId, changes });
    return viewMember({ user, role });
  });
}

/** Removes a member and ends its sessions there. Throws as `changeRole` does. */
export async function removeMember({ db }: Pick<Deps, 'db'>, call: Call, userId: string): Promise<DeletedMember> {
  requireOwner(call);
  const { organizationId } = call.caller;
  await db.sql.transaction(async (sql) => {
    const member = await requireMember(sql, organizationId, userId);
    if (member.role === 'owner') await requireOtherOwner(sql, organizationId, 'user_id');
    await deleteMember(sql, organizationId, userId);
    await deleteMemberSessions(sql, userId, organizationId);
    await recordChange(sql, toActor(call), { action: 'member.removed', organizationId, resourceId: userId });
  });
  return { id: userId, object: 'member', deleted: true };
}

async function requireMember(sql: Sql, organizationId: string, userId: string): Promise<MemberRow> {
  const member = await lockMember(sql, organizationId, userId);
  if (member === null) throw notFound('user', userId, 'user_id');
  return member;
}

async function requireOtherOwner(sql: Sql, organizationId: string, param: string): Promise<void> {
  // Of two owners who leave at the same moment, the second one counts after the first one has left.
  await lockOrganization(sql, organizationId);
  if ((await countOwners(sql, organizationId)) < 2) {
    throw invalidValue(param, 'must not leave the organization without an owner');
  }
}

function viewMember({ user, role }: MemberUser): Member {
  return {
    id: user.id,
    object: 'member',
    email: user.email,
    name: user.name,
    role,
    is_operator: user.isOperator,
    created_at: toUnixSeconds(user.createdAt),
  };
}
