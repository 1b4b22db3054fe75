import { selectOrganization } from '../accounts/store.ts';
import { recordChange, toActor } from '../audit/record-change.ts';
import type { Sql } from '../db/db.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { insufficientScope, invalidInvitation, invalidValue, notFound } from '../errors.ts';
import type { Call, UserRole } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { hashPassword, verifyPassword } from './password.ts';
import type {
  AcceptInvitation,
  CreateInvitation,
  DeletedInvitation,
  Invitation,
  InvitationWithToken,
} from './schema.ts';
import { type ClientRequest, openSession, requireAttempt, type SessionDeps } from './sessions.ts';
import {
  deleteInvitation,
  deleteOperatorInvitations,
  type InvitationRow,
  insertInvitation,
  insertUser,
  selectInvitations,
  selectUserByEmail,
  takeInvitation,
  type UserRow,
  updateUser,
  upsertMember,
} from './store.ts';
import { hashToken, newToken } from './tokens.ts';

/** Lifetime of an invitation. */
const INVITATION_MS = 7 * 86_400_000;

/** What an invitation grants. */
export interface InvitationGrant {
  organizationId: string;
  role: UserRole;
  isOperator: boolean;
  note: string | null;
}

/** Adds an invitation. Returns its row and the token, which is not stored. */
export async function addInvitation(
  sql: Sql,
  grant: InvitationGrant,
  now: number,
): Promise<{ row: InvitationRow; token: string }> {
  const token = newToken();
  const expiresAt = new Date(now + INVITATION_MS);
  const row = await insertInvitation(sql, {
    id: newId('invitation'),
    tokenHash: hashToken(token),
    ...grant,
    expiresAt,
  });
  return { row, token };
}

/** Invites a person to the caller's organization. Returns the token, once. Throws 403 unless the caller is an owner. */
export async function createInvitation(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  call: Call,
  { role, note = null }: CreateInvitation,
): Promise<InvitationWithToken> {
  requireOwner(call);
  const { organizationId } = call.caller;
  return db.sql.transaction(async (sql) => {
    const { row, token } = await addInvitation(sql, { organizationId, role, note, isOperator: false }, now());
    const changes = [{ field: 'role', to: role }];
    await recordChange(sql, toActor(call), {
      action: 'invitation.created',
      organizationId,
      resourceId: row.id,
      changes,
    });
    return { ...viewInvitation(row), token };
  });
}

/** A page of the open invitations of the caller's organization. */
export async function listInvitations({ db, now }: Pick<Deps, 'db' | 'now'>, call: Call, query: ListQuery) {
  const bounds = pageBounds(query, 'invitation');
  const rows = await selectInvitations(db.sql, call.caller.organizationId, new Date(now()), bounds);
  return page(rows.map(viewInvitation), bounds.limit);
}

/** Withdraws an invitation. Throws 404 `invitation_not_found`, and 403 unless the caller is an owner. */
export async function withdrawInvitation({ db }: Pick<Deps, 'db'>, call: Call, id: string): Promise<DeletedInvitation> {
  requireOwner(call);
  const { organizationId } = call.caller;
  await db.sql.transaction(async (sql) => {
    if (!(await deleteInvitation(sql, organizationId, id))) throw notFound('invitation', id, 'invitation_id');
    await recordChange(sql, toActor(call), { action: 'invitation.deleted', organizationId, resourceId: id });
  });
  return { id, object: 'invitation', deleted: true };
}

/**
 * Accepts an invitation: creates a user, or adds the user with that email, who must know the password. Returns the token of a new session.
 * Throws 400 `invalid_invitation`, 400 when the password of an existing user is wrong, and 429 for too many attempts.
 */
export async function acceptInvitation(
  deps: SessionDeps,
  client: ClientRequest,
  { token, name, password, ...body }: AcceptInvitation,
): Promise<string> {
  const email = body.email.toLowerCase();
  await requireAttempt(deps, email, client);
  const existing = await selectUserByEmail(deps.db.sql, email);
  if (existing !== null && !(await verifyPassword(password, existing.passwordHash, deps.passwordCost))) {
    throw invalidValue('password', 'must be the password of the account that exists for this email');
  }
  const passwordHash = existing?.passwordHash ?? (await hashPassword(password, deps.passwordCost));
  const user = existing ?? { id: newId('user'), email, name: name ?? email, passwordHash, isOperator: false };
  const organizationId = await deps.db.sql.transaction((sql) =>
    redeemInvitation(sql, { token, user, isNew: existing === null, time: new Date(deps.now()) }, client),
  );
  return openSession(deps, user.id, organizationId);
}

/** A user who redeems an invitation. */
interface Redemption {
  token: string;
  user: Omit<UserRow, 'createdAt'>;
  /** Whether the user has to be inserted. */
  isNew: boolean;
  time: Date;
}

/** Makes a user a member by an invitation, which ends. Returns the organization. Throws 400 `invalid_invitation`. */
export async function redeemInvitation(
  sql: Sql,
  { token, user, isNew, time }: Redemption,
  { address, requestId }: ClientRequest,
): Promise<string> {
  const invitation = await takeInvitation(sql, hashToken(token), time);
  if (invitation === null || (await selectOrganization(sql, invitation.organizationId)) === null)
    throw invalidInvitation();
  await admit(sql, invitation, user, isNew);
  // Several starts may have printed links of operators; one account is enough to invite the others.
  if (invitation.isOperator) await deleteOperatorInvitations(sql);
  const { organizationId, role } = invitation;
  const changes = [{ field: 'role', to: role }];
  const actor = { id: user.id, address, requestId };
  await recordChange(sql, actor, { action: 'member.added', organizationId, resourceId: user.id, changes });
  return organizationId;
}

async function admit(
  sql: Sql,
  { organizationId, role, isOperator }: InvitationRow,
  user: Omit<UserRow, 'createdAt'>,
  isNew: boolean,
): Promise<void> {
  if (isNew) await insertUser(sql, { ...user, isOperator });
  else if (isOperator) await updateUser(sql, user.id, { isOperator });
  await upsertMember(sql, { organizationId, userId: user.id, role });
}

/** Throws 403 unless the caller is an owner of its organization or an operator. Keys with the scope `keys` do not manage people. */
export function requireOwner({ caller }: Call): void {
  if (caller.role !== 'owner' && !caller.scopes.has('admin')) {
    throw insufficientScope('Only owners of the organization manage its members.');
  }
}

function viewInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    object: 'invitation',
    role: row.role,
    note: row.note,
    expires_at: toUnixSeconds(row.expiresAt),
    created_at: toUnixSeconds(row.createdAt),
  };
}
