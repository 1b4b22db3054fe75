import { toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, notFound } from '../../errors.ts';
import type { Call, UserRole } from '../../lib/caller.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { DeletedMember, Member } from '../schema.ts';
import { type MemberUser, selectMembers, selectUser, type UserRow } from '../store.ts';
import { changeMembership, lockRole } from './change-rights.ts';
import { requireOwner } from './invitations.ts';

/** A page of the members of the caller's organization. */
export async function listMembers({ db }: Pick<Deps, 'db'>, call: Call, query: ListQuery) {
  const bounds = pageBounds(query, 'user');
  const rows = await selectMembers(db.sql, call.caller.organizationId, bounds);
  return page(rows.map(viewMember), bounds.limit);
}

/** Changes the role of a member. Throws 404 `user_not_found`, 400 for the last owner, 403 unless called by an owner. */
export async function changeRole(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  userId: string,
  role: UserRole,
): Promise<Member> {
  requireOwner(call);
  const { organizationId } = call.caller;
  return db.sql.transaction(async (sql) => {
    const user = await requireMember(sql, organizationId, userId);
    const isChanged = await changeMembership(sql, { organizationId, userId, role }, toActor(call));
    if (!isChanged) throw leavesNoOwner('role');
    return viewMember({ user, role });
  });
}

/** Removes a member and ends its sessions there. Throws as `changeRole` does. */
export async function removeMember({ db }: Pick<Deps, 'db'>, call: Call, userId: string): Promise<DeletedMember> {
  requireOwner(call);
  const { organizationId } = call.caller;
  await db.sql.transaction(async (sql) => {
    await requireMember(sql, organizationId, userId);
    const isChanged = await changeMembership(sql, { organizationId, userId, role: null }, toActor(call));
    if (!isChanged) throw leavesNoOwner('user_id');
  });
  return { id: userId, object: 'member', deleted: true };
}

async function requireMember(sql: Sql, organizationId: string, userId: string): Promise<UserRow> {
  const role = await lockRole(sql, organizationId, userId);
  const user = role === null ? null : await selectUser(sql, userId);
  if (user === null) throw notFound('user', userId, 'user_id');
  return user;
}

const leavesNoOwner = (param: string) => invalidValue(param, 'must not leave the organization without an owner');

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
