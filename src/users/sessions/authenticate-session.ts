import type { IncomingHttpHeaders } from 'node:http';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { invalidSession } from '../../errors.ts';
import type { Caller } from '../../lib/caller.ts';
import { roleScopes } from '../roles.ts';
import { type OpenSession, selectSession, updateSession } from '../store.ts';
import { hashToken } from '../tokens.ts';
import { readSessionToken, requireSameOrigin, SESSION_MS } from './session-cookie.ts';

/** Interval at which the last use of a session is stored, and its lifetime extended. */
const TOUCH_MS = 300_000;

/** The session of a request, and the caller that it stands for. */
export interface AuthenticatedSession {
  open: OpenSession;
  caller: Caller;
}

/**
 * Reads the session of a request from the database, so that a sign-out ends it in every process. Null without a session
 * cookie. Throws 401 `invalid_session` for an expired or unknown session, and 403 `insufficient_scope` for requests of
 * other sites.
 */
export async function findSession(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  method: string,
  headers: IncomingHttpHeaders,
): Promise<AuthenticatedSession | null> {
  const token = readSessionToken(headers);
  if (token === null) return null;
  requireSameOrigin(method, headers);
  const time = now();
  const session = await readOpenSession(db.sql, hashToken(token), time);
  if (session === null) throw invalidSession();
  const { open } = session;
  if (time - open.session.lastSeenAt.getTime() > TOUCH_MS) {
    const changes = { lastSeenAt: new Date(time), expiresAt: new Date(time + SESSION_MS) };
    await updateSession(db.sql, open.session.tokenHash, changes);
  }
  return session;
}

/** The session with that SHA-256 of its token; null when it has ended or its user has left the organization. */
export async function readOpenSession(sql: Sql, tokenHash: string, time: number): Promise<AuthenticatedSession | null> {
  const open = await selectSession(sql, tokenHash, new Date(time));
  const caller = open === null ? null : toCaller(open);
  return open === null || caller === null ? null : { open, caller };
}

/** Null for a user who has left the organization. Operators need no membership. */
function toCaller({ session, user, role: memberRole, organizationLimits }: OpenSession): Caller | null {
  const role = memberRole ?? (user.isOperator ? 'owner' : null);
  if (role === null) return null;
  return {
    organizationId: session.organizationId,
    // Usage, rate limits and the audit log name the user as they name a key.
    keyId: user.id,
    scopes: roleScopes(role, user.isOperator),
    models: null,
    limits: null,
    organizationLimits,
    budget: null,
    role,
  };
}
