import { type Actor, recordChange } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, notFound } from '../../errors.ts';
import { newId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { DeletedIdentity, Identity } from '../schema.ts';
import { deleteUserSessions, lockUser } from '../store.ts';
import type { AuthenticatedSession } from './authenticate-session.ts';
import { type ClientRequest, userActor } from './client-request.ts';
import { deleteIdentities, type IdentityRow, insertIdentity, selectIdentities } from './identity-store.ts';

/** A page of the identities of a user, oldest first. */
export async function listIdentities(
  { db }: Pick<Deps, 'db'>,
  { open: { user } }: AuthenticatedSession,
  query: ListQuery,
) {
  const bounds = pageBounds(query, 'identity');
  const rows = await selectIdentities(db.sql, user.id, bounds);
  return page(rows.map(viewIdentity), bounds.limit);
}

/**
 * Removes an identity of a user and ends the other sessions of the user, which the person of the identity may have
 * opened. Throws 404 `identity_not_found`, and 400 for the only way to sign in.
 */
export async function removeIdentity(
  { db }: Pick<Deps, 'db'>,
  client: ClientRequest,
  { open: { user, session } }: AuthenticatedSession,
  id: string,
): Promise<DeletedIdentity> {
  await db.sql.transaction(async (sql) => {
    // Of two identities that are removed at the same moment, the second one is counted after the first one is gone.
    const locked = await lockUser(sql, user.id);
    const [removed] = await unlinkIdentities(sql, user.id, userActor(user.id, client), id);
    if (removed === undefined) throw notFound('identity', id, 'identity_id');
    const [left] = await selectIdentities(sql, user.id, { limit: 0, after: null });
    if (locked?.passwordHash == null && left === undefined)
      throw invalidValue('identity_id', 'is the only way to sign in with this account');
    await deleteUserSessions(sql, user.id, session.tokenHash);
  });
  return { id, object: 'identity', deleted: true };
}

/** A verified person of an issuer, and the user who signs in as that person. */
export interface IdentityLink {
  issuer: string;
  subject: string;
  userId: string;
}

/** Links a person with a user, who signs in with it from now on. */
export async function linkIdentity(sql: Sql, link: IdentityLink, actor: Actor): Promise<void> {
  const { issuer, subject, userId } = link;
  await insertIdentity(sql, { id: newId('identity'), ...link });
  const changes = Object.entries({ issuer, subject }).map(([field, to]) => ({ field, to }));
  await recordChange(sql, actor, {
    action: 'user.identity_linked',
    organizationId: '',
    resourceId: userId,
    changes,
  });
}

/** Removes an identity of a user, or all of them without an id. Returns the removed ones. */
export async function unlinkIdentities(sql: Sql, userId: string, actor: Actor, id?: string): Promise<IdentityRow[]> {
  const removed = await deleteIdentities(sql, userId, id);
  for (const { issuer, subject } of removed) {
    const changes = Object.entries({ issuer, subject }).map(([field, from]) => ({ field, from }));
    await recordChange(sql, actor, {
      action: 'user.identity_unlinked',
      organizationId: '',
      resourceId: userId,
      changes,
    });
  }
  return removed;
}

function viewIdentity({ id, issuer, subject, createdAt }: IdentityRow): Identity {
  return { id, object: 'identity', issuer, subject, created_at: toUnixSeconds(createdAt) };
}
