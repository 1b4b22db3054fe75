import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { BrowserSession, DeletedBrowserSession } from '../schema.ts';
import { deleteSessionById, deleteUserSessions, type SessionRow, selectUserSessions } from '../store.ts';
import type { AuthenticatedSession } from './authenticate-session.ts';

/** A page of the open sessions of a user, oldest first. */
export async function listOwnSessions(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { open: { user, session } }: AuthenticatedSession,
  query: ListQuery,
) {
  const bounds = pageBounds(query, 'session');
  const rows = await selectUserSessions(db.sql, user.id, new Date(now()), bounds);
  return page(
    rows.map((row) => viewBrowserSession(row, session.id)),
    bounds.limit,
  );
}

/** Ends a session of the user. Throws 404 `session_not_found`. */
export async function endOwnSession(
  { db }: Pick<Deps, 'db'>,
  { open: { user } }: AuthenticatedSession,
  id: string,
): Promise<DeletedBrowserSession> {
  if (!(await deleteSessionById(db.sql, user.id, id))) throw notFound('session', id, 'session_id');
  return { id, object: 'browser_session', deleted: true };
}

/** Ends all sessions of the user but the calling one. */
export async function endOtherSessions(
  { db }: Pick<Deps, 'db'>,
  { open: { user, session } }: AuthenticatedSession,
): Promise<void> {
  await deleteUserSessions(db.sql, user.id, session.tokenHash);
}

function viewBrowserSession(row: SessionRow, currentId: string): BrowserSession {
  return {
    id: row.id,
    object: 'browser_session',
    user_agent: row.userAgent,
    is_current: row.id === currentId,
    created_at: toUnixSeconds(row.createdAt),
    last_seen_at: toUnixSeconds(row.lastSeenAt),
    expires_at: toUnixSeconds(row.expiresAt),
  };
}
