import type { IncomingHttpHeaders } from 'node:http';
import { selectOrganization, selectOrganizations } from '../accounts/store.ts';
import type { Actor } from '../audit/record-change.ts';
import type { Deps } from '../deps.ts';
import { invalidCredentials, invalidSession, notFound, rateLimitExceeded } from '../errors.ts';
import { type AuthenticatedSession, findSession } from './authenticate-session.ts';
import { hashPassword, type PasswordCost, verifyPassword } from './password.ts';
import { replacePassword } from './replace-password.ts';
import type { ChangePassword, Session, SignIn } from './schema.ts';
import { SESSION_MS } from './session-cookie.ts';
import {
  deleteSession,
  deleteUserSessions,
  hasIdentity,
  insertSession,
  type Membership,
  selectMemberships,
  selectUserByEmail,
  type UserRow,
  updateSession,
} from './store.ts';
import { hashToken, newToken } from './tokens.ts';

/** Limits sign-in attempts. Returns the milliseconds to wait; 0 when the attempt is allowed. */
export type LimitAttempts = (email: string, address: string) => Promise<number>;

/** Dependencies of sign-in. */
export type SessionDeps = Pick<Deps, 'db' | 'now'> & { limitAttempts: LimitAttempts; passwordCost: PasswordCost };

/** A request outside of a session. */
export interface ClientRequest {
  address: string;
  requestId: string;
}

/** The user of a request outside of a session, for the audit log. */
export const userActor = (id: string, { address, requestId }: ClientRequest): Actor => ({ id, address, requestId });

/** Signs a user in. Returns the session token. Throws 401 `invalid_credentials`, and 429 for too many attempts. */
export async function signIn(deps: SessionDeps, client: ClientRequest, { email, password }: SignIn): Promise<string> {
  const address = email.toLowerCase();
  await requireAttempt(deps, address, client);
  const user = await selectUserByEmail(deps.db.sql, address);
  const isValid = await verifyPassword(password, user?.passwordHash ?? null, deps.passwordCost);
  if (user === null || !isValid) throw invalidCredentials();
  const [organization] = await listUserOrganizations(deps, user);
  if (organization === undefined) throw invalidCredentials();
  return openSession(deps, user.id, organization.id);
}

/** Throws 429 when an account or an address has made too many attempts. */
export async function requireAttempt(deps: SessionDeps, email: string, { address }: ClientRequest): Promise<void> {
  const waitMs = await deps.limitAttempts(email, address);
  if (waitMs === 0) return;
  const seconds = Math.ceil(waitMs / 1000);
  throw rateLimitExceeded(`Too many attempts to sign in. Retry in ${seconds} s.`, seconds);
}

/** Opens a session with a new token, so that no token from before the sign-in is valid after it (session fixation). */
export async function openSession(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  userId: string,
  organizationId: string,
): Promise<string> {
  const token = newToken();
  const time = now();
  await insertSession(db.sql, {
    tokenHash: hashToken(token),
    userId,
    organizationId,
    expiresAt: new Date(time + SESSION_MS),
    lastSeenAt: new Date(time),
  });
  return token;
}

/** The session of a request. Throws 401 `invalid_session` without one. */
export async function requireSession(
  deps: Pick<Deps, 'db' | 'now'>,
  method: string,
  headers: IncomingHttpHeaders,
): Promise<AuthenticatedSession> {
  const found = await findSession(deps, method, headers);
  if (found === null) throw invalidSession();
  return found;
}

/** Returns a session with its user and the organizations that the user may open. */
export async function viewSession(deps: Pick<Deps, 'db'>, { open, caller }: AuthenticatedSession): Promise<Session> {
  const { user, session } = open;
  const all = await listUserOrganizations(deps, user);
  const organization = all.find(({ id }) => id === session.organizationId);
  return {
    object: 'session',
    user: {
      id: user.id,
      email: user.email,
      name: user.name,
      is_operator: user.isOperator,
      has_password: user.passwordHash !== null,
      is_linked: await hasIdentity(deps.db.sql, user.id),
    },
    organization: { id: session.organizationId, name: organization?.name ?? '', role: caller.role ?? 'viewer' },
    organizations: all,
    scopes: [...caller.scopes],
  };
}

/** Organizations offered in the switch of the console; operators see more through the admin API. */
const MAX_ORGANIZATIONS = 100;

/** The organizations that a user may open; for operators the others as well, with the role of an owner. */
export async function listUserOrganizations(
  { db }: Pick<Deps, 'db'>,
  user: Pick<UserRow, 'id' | 'isOperator'>,
): Promise<Membership[]> {
  const own = await selectMemberships(db.sql, user.id);
  if (!user.isOperator) return own;
  const all = await selectOrganizations(db.sql, { limit: MAX_ORGANIZATIONS, after: null });
  const others = all.filter(({ id }) => own.every((each) => each.id !== id));
  return [...own, ...others.map(({ id, name }) => ({ id, name, role: 'owner' as const }))];
}

/** Makes the session show another organization of the user. Throws 404 `organization_not_found`. */
export async function switchOrganization(
  deps: Pick<Deps, 'db'>,
  { open }: AuthenticatedSession,
  organizationId: string,
): Promise<void> {
  const { user, session } = open;
  const isMember = (await selectMemberships(deps.db.sql, user.id)).some(({ id }) => id === organizationId);
  const isAllowed = isMember || (user.isOperator && (await selectOrganization(deps.db.sql, organizationId)) !== null);
  if (!isAllowed) throw notFound('organization', organizationId, 'organization_id');
  await updateSession(deps.db.sql, session.tokenHash, { organizationId });
}

/** Ends the session, or all sessions of its user. */
export async function signOut(
  deps: Pick<Deps, 'db'>,
  { open: { session, user } }: AuthenticatedSession,
  everywhere: boolean,
): Promise<void> {
  if (everywhere) await deleteUserSessions(deps.db.sql, user.id);
  else await deleteSession(deps.db.sql, session.tokenHash);
}

/**
 * Changes the password of a user and ends all sessions. Returns the token of a new session. Throws 401 `invalid_credentials` when the
 * current password is wrong, and 429 for too many attempts.
 */
export async function changePassword(
  deps: SessionDeps,
  client: ClientRequest,
  { open: { user, session } }: AuthenticatedSession,
  body: ChangePassword,
): Promise<string> {
  await requireAttempt(deps, user.email, client);
  if (!(await verifyPassword(body.current_password, user.passwordHash, deps.passwordCost)))
    throw invalidCredentials('current_password');
  const passwordHash = await hashPassword(body.new_password, deps.passwordCost);
  await deps.db.sql.transaction((sql) =>
    replacePassword(sql, { userId: user.id, passwordHash }, userActor(user.id, client)),
  );
  return openSession(deps, user.id, session.organizationId);
}
