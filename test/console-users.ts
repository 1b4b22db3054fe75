/** Users of the console in tests: invitations, accounts, and requests under a session. */
import assert from 'node:assert/strict';
import { insertOrganization, selectOrganizationByName } from '../src/accounts/store.ts';
import { DEFAULT_ORGANIZATION, type UserRole } from '../src/lib/caller.ts';
import { newId } from '../src/lib/ids.ts';
import { addInvitation, acceptInvitation as redeem } from '../src/users/members/invitations.ts';
import type { AcceptInvitation } from '../src/users/schema.ts';
import type { SignInLimits } from '../src/users/sessions/sign-in-attempts.ts';
import { type Answer, CHEAP_PASSWORDS, type TestApi } from './harness.ts';

/** Password of the users of `acceptInvitation`. */
export const PASSWORD = 'correct horse battery';

/** Headers of a request of the console itself, as browsers mark it. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

/** A signed-in user. */
export interface ConsoleUser {
  id: string;
  email: string;
  /** Name and value of the session cookie. */
  cookie: string;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** Name and value of a cookie that a response sets; empty when it sets none. */
export function readSetCookie({ headers }: Pick<Answer, 'headers'>, name: string): string {
  const cookie = headers.getSetCookie().find((each) => each.startsWith(`${name}=`));
  return cookie?.split(';')[0] ?? '';
}

/** The user of a response that opens a session. */
export function asUser(api: TestApi, answer: Answer): ConsoleUser {
  assert.equal(answer.status, 200, answer.text);
  const { id, email } = answer.json.user;
  return { id, email, ...withCookie(api, readSetCookie(answer, 'quire_session')) };
}

function withCookie(api: TestApi, cookie: string): Pick<ConsoleUser, 'cookie' | 'send'> {
  const headers = { cookie, ...SAME_ORIGIN };
  return { cookie, send: (method, path, body) => api.send(method, path, { key: null, headers, body }) };
}

/** Id of an organization, which is created. */
export async function makeOrganization(api: TestApi, name: string = DEFAULT_ORGANIZATION): Promise<string> {
  await insertOrganization(api.db.sql, newId('organization'), name);
  return (await selectOrganizationByName(api.db.sql, name))?.id ?? '';
}

/** Organization of an invitation, which is created, and whether the user becomes an operator. */
export interface InvitationOptions {
  organization?: string;
  isOperator?: boolean;
}

/** Creates an invitation. Returns its token. */
export async function inviteUser(api: TestApi, role: UserRole, options: InvitationOptions = {}): Promise<string> {
  const { organization = DEFAULT_ORGANIZATION, isOperator = false } = options;
  const organizationId = await makeOrganization(api, organization);
  const grant = { organizationId, role, isOperator, note: null, createdBy: 'service' };
  return (await addInvitation(api.db.sql, grant, Date.now())).token;
}

/** Accepts every attempt. */
export const UNLIMITED_SIGN_IN: SignInLimits = { take: async () => 0, refund: () => {} };

let users = 0;

/** A new account, unless `body` has the email of an existing one. */
function account(token: string, body: Partial<AcceptInvitation>): AcceptInvitation {
  users += 1;
  return { token, email: `User${users}@example.com`, name: `User ${users}`, password: PASSWORD, ...body };
}

/** Accepts an invitation as a new user, unless `body` names the email of an existing one. */
export function acceptInvitation(api: TestApi, token: string, body: Partial<AcceptInvitation> = {}): Promise<Answer> {
  return api.send('POST', '/v1/invitations/accept', { key: null, body: account(token, body) });
}

/**
 * Invites a user, who accepts: a new one, unless `email` is of an existing one. Does not count as an attempt to sign
 * in.
 */
export async function joinAsUser(
  api: TestApi,
  role: UserRole,
  { email, ...options }: InvitationOptions & { email?: string } = {},
): Promise<ConsoleUser> {
  const body = account(await inviteUser(api, role, options), email === undefined ? {} : { email });
  const deps = { ...api.deps, signInLimits: UNLIMITED_SIGN_IN, passwordCost: CHEAP_PASSWORDS };
  const token = await redeem(deps, { address: '127.0.0.1', requestId: newId('request'), userAgent: null }, body);
  const user = withCookie(api, `quire_session=${token}`);
  const { json } = await user.send('GET', '/v1/session');
  return { id: json.user.id, email: json.user.email, ...user };
}

/** Signs in by password. */
export function signInByPassword(api: TestApi, email: string, password: string = PASSWORD): Promise<Answer> {
  return api.send('POST', '/v1/session', { key: null, body: { email, password } });
}
