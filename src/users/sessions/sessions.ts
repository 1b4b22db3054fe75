import type { IncomingHttpHeaders } from 'node:http';
import { selectOrganization, selectOrganizations } from '../../accounts/store.ts';
import type { Deps } from '../../deps.ts';
import { invalidCredentials, invalidSession, missingField, notFound, signInTooOld } from '../../errors.ts';
import { newId } from '../../lib/ids.ts';
import { hashPassword, type PasswordCost, verifyPassword } from '../password.ts';
import type { ChangePassword, Session, SignIn } from '../schema.ts';
import {
  deleteSession,
  deleteUserSessions,
  insertSession,
  type Membership,
  selectMemberships,
  selectUserByEmail,
  type UserRow,
  updateSession,
} from '../store.ts';
import { hashToken, newToken } from '../tokens.ts';
import { type AuthenticatedSession, findSession } from './authenticate-session.ts';
import { type ClientRequest, userActor } from './client-request.ts';
import { hasIdentity } from './identity-store.ts';
import { replacePassword } from './replace-password.ts';
import { SESSION_MS } from './session-cookie.ts';
import { requireAttempt, type SignInLimits } from './sign-in-attempts.ts';

/** Dependencies of sign-in. */
export type SessionDeps = Pick<Deps, 'db' | 'now' | 'secrets'> & {
  signInLimits: SignInLimits;
  passwordCost: PasswordCost;
};

/** Signs a user in. Returns the session token. Throws 401 `invalid_credentials`, and 429 for too many attempts. */
export async function signIn(deps: SessionDeps, client: ClientRequest, { email, password }: SignIn): Promise<string> {
  const address = email.toLowerCase();
  const succeed = await requireAttempt(deps, address, client);
  const user = await selectUserByEmail(deps.db.sql, address);
  const isValid = await verifyPassword(password, user?.passwordHash ?? null, deps.passwordCost, client.address);
  if (user === null || !isValid) throw invalidCredentials();
  succeed();
  const [organization] = await listUserOrganizations(deps, user);
  if (organization === undefined) throw invalidCredentials();
  return openSession(deps, client, user.id, organization.id);
}

/** Opens a session with a new token, so that no token from before the sign-in is valid after it (session fixation). */
export async function openSession(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { userAgent }: ClientRequest,
  userId: string,
  organizationId: string,
): Promise<string> {
  const token = newToken();
  const time = now();
  await insertSession(db.sql, {
    id: newId('session'),
    tokenHash: hashToken(token),
    userId,
    organizationId,
    userAgent,
    expiresAt: new Date(time + SESSION_MS),
    lastSeenAt: new Date(time),
    createdAt: new Date(time),
  });
  return token;
}

/** The session of a request. Throws 401 `invalid_session` without one. */
export async function requireSession(
  deps: Pick<Deps, 'db' | 'now'>,
  method: string,
  headers: IncomingHttpHeaders,
): Promise<AuthenticatedSession> {
  const session = await findSession(deps, method, headers);
  if (session === null) throw invalidSession();
  return session;
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

/** How long a sign-in permits users without a password to change how they sign in. */
const RECENT_MS = 600_000;

/**
 * Throws unless the user has just shown who it is: by the password, or without one by a sign-in of the last ten
 * minutes. `param` names the password in errors: 400 without it, 401 `invalid_credentials` for a wrong one or an older
 * sign-in, and 429 for too many attempts.
 */
export async function confirmUser(
  deps: SessionDeps,
  client: ClientRequest,
  { open: { user, session } }: AuthenticatedSession,
  { param, password }: { param: string; password: string | undefined },
): Promise<void> {
  if (user.passwordHash === null) {
    if (deps.now() - session.createdAt.getTime() > RECENT_MS) throw signInTooOld();
    return;
  }
  if (password === undefined) throw missingField(param);
  // The session is the device: guesses from other devices do not keep its user from proving the password.
  const succeed = await requireAttempt(deps, user.email, client, session.tokenHash);
  if (!(await verifyPassword(password, user.passwordHash, deps.passwordCost, client.address)))
    throw invalidCredentials(param);
  succeed();
}

/**
 * Changes the password of a user and ends all sessions; removes the identities as well if the body says so. Returns the
 * token of a new session. Throws 401 `invalid_credentials` when the current password is wrong, and 429 for too many
 * attempts.
 */
export async function changePassword(
  deps: SessionDeps,
  client: ClientRequest,
  authenticated: AuthenticatedSession,
  { current_password: password, new_password: newPassword, remove_identities: removesIdentities }: ChangePassword,
): Promise<string> {
  const { user, session } = authenticated.open;
  // Otherwise a session would be enough to give an account without a password another way to sign in.
  if (user.passwordHash === null) throw invalidCredentials('current_password');
  await confirmUser(deps, client, authenticated, { param: 'current_password', password });
  const passwordHash = await hashPassword(newPassword, deps.passwordCost, client.address);
  const change = { userId: user.id, passwordHash, removesIdentities: removesIdentities ?? false };
  await deps.db.sql.transaction((sql) => replacePassword(sql, change, userActor(user.id, client)));
  return openSession(deps, client, user.id, session.organizationId);
}
