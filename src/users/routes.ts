import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ListQuery } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { acceptInvitation, createInvitation, listInvitations, withdrawInvitation } from './members/invitations.ts';
import { changeRole, listMembers, removeMember } from './members/manage-members.ts';
import { redeemPasswordReset } from './members/reset-password.ts';
import {
  AcceptInvitation,
  ChangePassword,
  CreateInvitation,
  DeletedInvitation,
  DeletedMember,
  DeletedSession,
  InvitationList,
  InvitationWithToken,
  Member,
  MemberList,
  RedeemPasswordReset,
  Session,
  SignIn,
  SwitchOrganization,
  UpdateMember,
} from './schema.ts';
import { readClient } from './sessions/client-request.ts';
import { deviceCookie } from './sessions/device-cookie.ts';
import { ownAccountRoutes } from './sessions/own-account-routes.ts';
import { endOtherSessions } from './sessions/own-sessions.ts';
import { readSessionToken, requireSameOrigin, sessionCookie } from './sessions/session-cookie.ts';
import {
  changePassword,
  requireSession,
  type SessionDeps,
  signIn,
  signOut,
  switchOrganization,
  viewSession,
} from './sessions/sessions.ts';
import { oidcRoutes } from './sign-in/oidc-routes.ts';
import type { OidcDeps } from './sign-in/oidc-sign-in.ts';
import { deleteSession } from './store.ts';
import { hashToken } from './tokens.ts';

const tags = ['Console'];
const isPublic = { scope: 'public' } as const;

/** `/v1/session`, members and invitations. The console calls all other routes with the session cookie. */
export function userRoutes(app: App, deps: SessionDeps & OidcDeps): void {
  signInRoutes(app, deps);
  oidcRoutes(app, deps);
  ownSessionRoutes(app, deps);
  ownAccountRoutes(app, deps);
  memberRoutes(app, deps);
  invitationRoutes(app, deps);
  accountRoutes(app, deps);
}

const readSession = (deps: SessionDeps, request: FastifyRequest) =>
  requireSession(deps, request.method, request.headers);

/** Sets the cookies of a new session and of its device, and ends the session before it. Returns the session. */
async function startSession(deps: SessionDeps, request: FastifyRequest, reply: FastifyReply, token: string) {
  const { headers } = request;
  const earlier = readSessionToken(headers);
  if (earlier !== null) await deleteSession(deps.db.sql, hashToken(earlier));
  const cookie = sessionCookie(token, headers);
  const session = await viewSession(deps, await requireSession(deps, 'GET', { ...headers, cookie }));
  reply.header('set-cookie', [cookie, deviceCookie(deps.secrets, session.user.email, headers)]);
  return session;
}

function signInRoutes(app: App, deps: SessionDeps): void {
  app.post(
    '/v1/session',
    {
      schema: {
        summary: 'Sign in to the console',
        description:
          'Sets the session cookie. At most 5 failed attempts per minute for an account, 20 for an address, and 10 for an account from all unknown devices together.',
        tags,
        body: SignIn,
        response: { 200: Session },
      },
      config: { ...isPublic, sessionErrors: [401, 403, 429] },
    },
    async (request, reply) => {
      requireSameOrigin(request.method, request.headers, { requireHeader: false });
      return startSession(deps, request, reply, await signIn(deps, readClient(request), request.body));
    },
  );
}

function ownSessionRoutes(app: App, deps: SessionDeps): void {
  app.get(
    '/v1/session',
    {
      schema: { summary: 'Get the session of the cookie', tags, response: { 200: Session } },
      config: { ...isPublic, sessionErrors: [401] },
    },
    async (request) => viewSession(deps, await readSession(deps, request)),
  );
  app.patch(
    '/v1/session',
    {
      schema: {
        summary: 'Show another organization',
        tags,
        body: SwitchOrganization,
        response: { 200: Session },
      },
      config: { ...isPublic, sessionErrors: [401, 403] },
    },
    async (request) => {
      await switchOrganization(deps, await readSession(deps, request), request.body.organization_id);
      return viewSession(deps, await readSession(deps, request));
    },
  );
  app.delete(
    '/v1/session',
    {
      schema: {
        summary: 'Sign out',
        tags,
        querystring: Type.Object({
          everywhere: Type.Optional(Type.Boolean({ description: 'Ends all sessions of the user.' })),
          others: Type.Optional(Type.Boolean({ description: 'Ends all other sessions of the user; this one stays.' })),
        }),
        response: { 200: DeletedSession },
      },
      config: { ...isPublic, sessionErrors: [401, 403] },
    },
    async (request, reply) => {
      const { everywhere = false, others = false } = request.query;
      const session = await readSession(deps, request);
      if (others && !everywhere) {
        await endOtherSessions(deps, session);
        return { object: 'session', deleted: true } as const;
      }
      await signOut(deps, session, everywhere);
      reply.header('set-cookie', sessionCookie(null, request.headers));
      return { object: 'session', deleted: true } as const;
    },
  );
}

const UserParams = Type.Object({ user_id: Type.String() });
const InvitationParams = Type.Object({ invitation_id: Type.String() });
const config = { scope: 'keys' } as const;

function memberRoutes(app: App, deps: SessionDeps): void {
  app.get(
    '/v1/admin/members',
    {
      schema: {
        summary: 'List the members of your organization',
        description: 'For members of any role, and keys with the scope `keys`.',
        tags,
        querystring: ListQuery,
        response: { 200: MemberList },
      },
      config: { ...config, openToUsers: true },
    },
    async (request) => listMembers(deps, toCall(request), request.query),
  );
  app.patch(
    '/v1/admin/members/:user_id',
    {
      schema: {
        summary: 'Change the role of a member',
        description: 'For owners. An organization keeps at least one owner.',
        tags,
        params: UserParams,
        body: UpdateMember,
        response: { 200: Member },
      },
      config,
    },
    async (request) => changeRole(deps, toCall(request), request.params.user_id, request.body.role),
  );
  app.delete(
    '/v1/admin/members/:user_id',
    {
      schema: {
        summary: 'Remove a member',
        description: 'For owners. Ends the sessions of the member in this organization.',
        tags,
        params: UserParams,
        response: { 200: DeletedMember },
      },
      config,
    },
    async (request) => removeMember(deps, toCall(request), request.params.user_id),
  );
}

function accountRoutes(app: App, deps: SessionDeps): void {
  app.post(
    '/v1/session/password',
    {
      schema: {
        summary: 'Change the password',
        description:
          'Ends all other sessions and the open reset link of the user. Identities of the user stay unless `remove_identities` is true.',
        tags,
        body: ChangePassword,
        response: { 200: Session },
      },
      config: { ...isPublic, sessionErrors: [401, 403, 429] },
    },
    async (request, reply) => {
      const session = await readSession(deps, request);
      return startSession(deps, request, reply, await changePassword(deps, readClient(request), session, request.body));
    },
  );
  app.post(
    '/v1/session/password-reset',
    {
      schema: {
        summary: 'Set the password of a reset link',
        description:
          'Ends all sessions of the user, and sets the session cookie. Identities of the user stay unless `remove_identities` is true.',
        tags,
        body: RedeemPasswordReset,
        response: { 200: Session },
      },
      config: { ...isPublic, sessionErrors: [403] },
    },
    async (request, reply) => {
      requireSameOrigin(request.method, request.headers, { requireHeader: false });
      return startSession(deps, request, reply, await redeemPasswordReset(deps, readClient(request), request.body));
    },
  );
  app.post(
    '/v1/invitations/accept',
    {
      schema: {
        summary: 'Accept an invitation',
        description: 'Creates a user, or adds the existing user with that email. Sets the session cookie.',
        tags,
        body: AcceptInvitation,
        response: { 200: Session },
      },
      config: { ...isPublic, sessionErrors: [403, 429] },
    },
    async (request, reply) => {
      requireSameOrigin(request.method, request.headers, { requireHeader: false });
      return startSession(deps, request, reply, await acceptInvitation(deps, readClient(request), request.body));
    },
  );
}

function invitationRoutes(app: App, deps: SessionDeps): void {
  app.post(
    '/v1/admin/invitations',
    {
      schema: {
        summary: 'Invite a person to your organization',
        description: 'For owners. The token is shown once; the link is `/join#TOKEN` of the console.',
        tags,
        body: CreateInvitation,
        response: { 200: InvitationWithToken },
      },
      config: { ...config, idempotent: 'sealed' },
    },
    async (request) => createInvitation(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/admin/invitations',
    {
      schema: {
        summary: 'List the open invitations',
        description: 'For owners.',
        tags,
        querystring: ListQuery,
        response: { 200: InvitationList },
      },
      config,
    },
    async (request) => listInvitations(deps, toCall(request), request.query),
  );
  app.delete(
    '/v1/admin/invitations/:invitation_id',
    {
      schema: {
        summary: 'Withdraw an invitation',
        description: 'For owners.',
        tags,
        params: InvitationParams,
        response: { 200: DeletedInvitation },
      },
      config,
    },
    async (request) => withdrawInvitation(deps, toCall(request), request.params.invitation_id),
  );
}
