import { selectOrganization } from '../../accounts/store.ts';
import { recordChange, toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { insufficientScope, invalidInvitation, invalidValue, notFound } from '../../errors.ts';
import type { Call, UserRole } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { hashPassword, verifyPassword } from '../password.ts';
import type {
  AcceptInvitation,
  CreateInvitation,
  DeletedInvitation,
  Invitation,
  InvitationWithToken,
} from '../schema.ts';
import { type ClientRequest, userActor } from '../sessions/client-request.ts';
import { openSession, type SessionDeps } from '../sessions/sessions.ts';
import { requireAttempt } from '../sessions/sign-in-attempts.ts';
import {
  deleteInvitation,
  deleteOperatorInvitations,
  hasInvitation,
  type InvitationRow,
  insertInvitation,
  insertUser,
  lockUser,
  selectInvitations,
  selectUserByEmail,
  takeInvitation,
  type UserRow,
} from '../store.ts';
import { hashToken, newToken } from '../tokens.ts';
import { changeMembership, makeOperator } from './change-rights.ts';
import { isCreatorEntitled } from './link-creator.ts';

/** Lifetime of an invitation. */
const INVITATION_MS = 7 * 86_400_000;

/** What an invitation grants. */
export interface InvitationGrant {
  organizationId: string;
  role: UserRole;
  isOperator: boolean;
  note: string | null;
  /** The id of the user or key that invites, or of the service. */
  createdBy: string;
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
  const { organizationId, keyId: createdBy } = call.caller;
  const grant = { organizationId, role, note, createdBy, isOperator: false };
  return db.sql.transaction(async (sql) => {
    const { row, token } = await addInvitation(sql, grant, now());
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
 * Accepts an invitation: creates a user, or adds the user with that email, who must know the password. Returns the
 * token of a new session. Throws 400 when the invitation is not valid or the password of an existing user is wrong, and
 * 429 for too many attempts.
 */
export async function acceptInvitation(
  deps: SessionDeps,
  client: ClientRequest,
  { token, name, password, ...body }: AcceptInvitation,
): Promise<string> {
  const email = body.email.toLowerCase();
  // First, so that nobody without an invitation learns which emails have an account, or uses up the attempts of one.
  if (!(await hasInvitation(deps.db.sql, hashToken(token), new Date(deps.now())))) throw invalidInvitation();
  const succeed = await requireAttempt(deps, email, client);
  const existing = await selectUserByEmail(deps.db.sql, email);
  if (existing !== null && !(await verifyPassword(password, existing.passwordHash, deps.passwordCost, client.address)))
    throw wrongPassword();
  const passwordHash = existing?.passwordHash ?? (await hashPassword(password, deps.passwordCost, client.address));
  const user = existing ?? { id: newId('user'), email, name: name ?? email, passwordHash, isOperator: false };
  const organizationId = await deps.db.sql.transaction(async (sql) => {
    // A reset of the password may have been used since the check.
    if (existing !== null && (await lockUser(sql, user.id))?.passwordHash !== passwordHash) throw wrongPassword();
    const redemption = { token, user, isNew: existing === null, time: new Date(deps.now()) };
    const redeemed = await redeemInvitation(sql, redemption, client);
    if ('rejection' in redeemed) throw REJECTIONS[redeemed.rejection]();
    return redeemed.organizationId;
  });
  succeed();
  return openSession(deps, client, user.id, organizationId);
}

const wrongPassword = () => invalidValue('password', 'must be the password of the account that exists for this email');

const REJECTIONS = {
  invalid_invitation: invalidInvitation,
  last_owner: () => invalidValue('token', 'is an invitation that would leave the organization without an owner'),
} as const;

/** A user who redeems an invitation. */
interface Redemption {
  token: string;
  user: Omit<UserRow, 'createdAt'>;
  /** Whether the user has to be inserted. */
  isNew: boolean;
  time: Date;
}

/** The organization of an invitation, or why it was rejected: the transaction must be rolled back then. */
export type RedeemedInvitation = { organizationId: string } | { rejection: keyof typeof REJECTIONS };

/** Gives a user the role of an invitation, which ends. */
export async function redeemInvitation(
  sql: Sql,
  { token, user, isNew, time }: Redemption,
  client: ClientRequest,
): Promise<RedeemedInvitation> {
  const invitation = await takeInvitation(sql, hashToken(token), time);
  if (invitation === null || (await selectOrganization(sql, invitation.organizationId)) === null)
    return { rejection: 'invalid_invitation' };
  const { organizationId, role, isOperator, createdBy } = invitation;
  // Invitations of an earlier version have no creator, and last for a week.
  if (createdBy !== null && !(await isCreatorEntitled(sql, createdBy, organizationId, time)))
    return { rejection: 'invalid_invitation' };
  const actor = userActor(user.id, client);
  if (isNew) await insertUser(sql, user);
  if (!(await changeMembership(sql, { organizationId, userId: user.id, role }, actor)))
    return { rejection: 'last_owner' };
  if (isOperator) {
    await makeOperator(sql, user.id, actor);
    // Several starts may have printed links of operators; one account is enough to invite the others.
    await deleteOperatorInvitations(sql);
  }
  return { organizationId };
}

/** Throws 403 unless the caller is an owner or an operator. Keys with the scope `keys` do not manage people. */
export function requireOwner({ caller }: Call, message = 'Only owners of the organization manage its members.'): void {
  if (caller.role !== 'owner' && !caller.scopes.has('admin')) throw insufficientScope(message);
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
