import type { IncomingHttpHeaders } from 'node:http';
import { selectOrganizationByName } from '../../accounts/store.ts';
import type { Config } from '../../config/config.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { newId } from '../../lib/ids.ts';
import { changeMembership } from '../members/change-rights.ts';
import { redeemInvitation } from '../members/invitations.ts';
import { readOpenSession } from '../sessions/authenticate-session.ts';
import { type ClientRequest, userActor } from '../sessions/client-request.ts';
import { linkIdentity } from '../sessions/identities.ts';
import { selectUserByIdentity } from '../sessions/identity-store.ts';
import { replacePassword } from '../sessions/replace-password.ts';
import { isHttps } from '../sessions/session-cookie.ts';
import { listUserOrganizations, openSession } from '../sessions/sessions.ts';
import { insertUser, lockSession, selectUserByEmail, type UserRow } from '../store.ts';
import type { NewTransaction, OidcTransaction } from './oidc-cookie.ts';
import { OidcError } from './oidc-error.ts';
import { hasAllowedDomain, type OidcIdentity, readIdentity, roleOfIdentity } from './oidc-identity.ts';
import type { OidcProvider } from './oidc-provider.ts';

/** Path of the redirect URI. */
export const OIDC_CALLBACK = '/v1/session/oidc/callback';

/** Dependencies of sign-in through the issuer; `oidc` is null unless one is configured. */
export type OidcDeps = Pick<Deps, 'db' | 'now' | 'config' | 'secrets' | 'logger'> & { oidc: OidcProvider | null };

type NewUser = Omit<UserRow, 'createdAt'>;

/**
 * Starts a sign-in. Returns the issuer's address and the transaction. Throws 404 without an issuer, 503 if unreachable.
 */
export async function startOidcSignIn(
  { oidc, config }: Pick<OidcDeps, 'oidc' | 'config'>,
  headers: IncomingHttpHeaders,
  purpose: Pick<NewTransaction, 'returnTo' | 'linkSession' | 'invitation'>,
): Promise<{ url: string; transaction: NewTransaction }> {
  if (oidc === null) throw notFound('sign_in_provider', 'oidc', null);
  const redirectUri = publicOrigin(config, headers) + OIDC_CALLBACK;
  const { url, checks } = await oidc.authorize(redirectUri);
  return { url, transaction: { ...checks, ...purpose, redirectUri } };
}

/** Address of the service for browsers. The issuer accepts registered addresses only, whatever the `Host` is. */
function publicOrigin({ publicUrl }: Pick<Config, 'publicUrl'>, headers: IncomingHttpHeaders): string {
  return publicUrl ?? `${isHttps(headers) ? 'https' : 'http'}://${headers.host}`;
}

/** Completes a sign-in by its callback. Returns the token of a new session, null after linking. Throws `OidcError`. */
export async function finishOidcSignIn(
  deps: OidcDeps,
  transaction: OidcTransaction,
  query: string,
  client: ClientRequest,
): Promise<string | null> {
  const { config, oidc } = deps;
  if (oidc === null) throw new OidcError('expired');
  const claims = await oidc.exchange(new URL(transaction.redirectUri + query), transaction, client.address);
  const identity = readIdentity(claims, config.oidcGroupsClaim);
  if (!hasAllowedDomain(identity, config.oidcAllowedDomains)) {
    throw new OidcError(identity.email === null ? 'email_unverified' : 'domain_not_allowed');
  }
  const { linkSession } = transaction;
  if (linkSession !== null) {
    const time = deps.now();
    await deps.db.sql.transaction((sql) => linkSessionUser(sql, { linkSession, identity, client, time }));
    return null;
  }
  const user = await deps.db.sql.transaction((sql) => resolveUser(deps, sql, { identity, transaction, client }));
  const [organization] = await listUserOrganizations(deps, user);
  if (organization === undefined) throw new OidcError('no_role');
  return openSession(deps, client, user.id, user.organizationId ?? organization.id);
}

/** A verified person whom a session links with its user. */
interface Linking {
  linkSession: string;
  identity: OidcIdentity;
  client: ClientRequest;
  time: number;
}

/** Links a person with the user of a session, which must not have ended since the start. A repetition has no effect. */
async function linkSessionUser(sql: Sql, { linkSession, identity, client, time }: Linking): Promise<void> {
  // A sign-out everywhere at this moment either waits for the link, and the user sees it, or prevents it.
  await lockSession(sql, linkSession);
  const session = await readOpenSession(sql, linkSession, time);
  if (session === null) throw new OidcError('session_ended');
  const { issuer, subject } = identity;
  const { id: userId } = session.open.user;
  const linked = await selectUserByIdentity(sql, issuer, subject);
  if (linked !== null && linked.id !== userId) throw new OidcError('identity_in_use');
  if (linked === null) await linkIdentity(sql, { issuer, subject, userId }, userActor(userId, client));
}

/** A verified person who completes a sign-in. */
interface Arrival {
  identity: OidcIdentity;
  transaction: OidcTransaction;
  client: ClientRequest;
}

type SignedInUser = NewUser & { organizationId: string | null };

/** Finds or creates the user of a person, with its role. `organizationId`: of an invitation; null without one. */
async function resolveUser(deps: OidcDeps, sql: Sql, arrival: Arrival): Promise<SignedInUser> {
  const { identity, transaction, client } = arrival;
  const { issuer, subject } = identity;
  const existingUser = (await selectUserByIdentity(sql, issuer, subject)) ?? (await linkByEmail(deps, sql, arrival));
  const user = existingUser ?? newUser(identity);
  const isNew = existingUser === null;
  let organizationId: string | null = null;
  if (transaction.invitation !== null) {
    const redemption = { token: transaction.invitation, user, isNew, time: new Date(deps.now()) };
    const redeemed = await redeemInvitation(sql, redemption, client);
    if ('rejection' in redeemed) throw new OidcError(redeemed.rejection);
    organizationId = redeemed.organizationId;
  } else {
    await applyRole(deps.config, sql, { user, isNew, arrival });
  }
  if (isNew) await linkIdentity(sql, { issuer, subject, userId: user.id }, userActor(user.id, client));
  return { ...user, organizationId };
}

function newUser({ email, name }: OidcIdentity): NewUser {
  if (email === null) throw new OidcError('email_unverified');
  return { id: newId('user'), email, name: name ?? email, passwordHash: null, isOperator: false };
}

/**
 * The account with the verified email of an unknown person, which `QUIRE_OIDC_LINKING=verified_email` links. Its email
 * was never verified by Quire: another person may have created the account, so that its password, sessions and other
 * identities end. Null when no account has the email.
 */
async function linkByEmail({ config }: OidcDeps, sql: Sql, { identity, client }: Arrival): Promise<UserRow | null> {
  const { email, issuer, subject } = identity;
  const account = email === null ? null : await selectUserByEmail(sql, email);
  if (account === null) return null;
  if (config.oidcLinking !== 'verified_email') throw new OidcError('account_exists');
  const { id: userId } = account;
  const actor = userActor(userId, client);
  await replacePassword(sql, { userId, passwordHash: null, removesIdentities: true }, actor);
  await linkIdentity(sql, { issuer, subject, userId }, actor);
  return account;
}

/** Creates a user without an invitation, and gives a user the role of its groups. Throws without any role. */
async function applyRole(
  config: Config,
  sql: Sql,
  { user, isNew, arrival }: { user: NewUser; isNew: boolean; arrival: Arrival },
): Promise<void> {
  const role = roleOfIdentity(arrival.identity, config);
  if (isNew && role === null) throw new OidcError(config.oidcRoles === null ? 'unknown_user' : 'no_role');
  // Without groups, roles of existing users change on the page of the members only.
  if (!isNew && (config.oidcRoles === null || user.isOperator)) return;
  if (role === null) throw new OidcError('no_role');
  const organization = await selectOrganizationByName(sql, config.oidcOrganization);
  if (organization === null) throw new OidcError('no_role', `no organization '${config.oidcOrganization}'`);
  if (isNew) await insertUser(sql, user);
  // Without effect for the last owner, who stays.
  await changeMembership(
    sql,
    { organizationId: organization.id, userId: user.id, role },
    userActor(user.id, arrival.client),
  );
}
