import { Type } from 'typebox';
import { ListQuery } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { BrowserSessionList, DeletedBrowserSession, DeletedIdentity, IdentityList } from '../schema.ts';
import { readClient } from './client-request.ts';
import { listIdentities, removeIdentity } from './identities.ts';
import { endOwnSession, listOwnSessions } from './own-sessions.ts';
import { requireSession, type SessionDeps } from './sessions.ts';

const tags = ['Console'];
const isRead = { scope: 'public', sessionErrors: [401] } as const;
const isChange = { scope: 'public', sessionErrors: [401, 403] } as const;

/** The sessions and identities of the signed-in user. */
export function ownAccountRoutes(app: App, deps: SessionDeps): void {
  sessionListRoutes(app, deps);
  identityRoutes(app, deps);
}

function sessionListRoutes(app: App, deps: SessionDeps): void {
  app.get(
    '/v1/browser-sessions',
    {
      schema: {
        summary: 'List your sessions',
        description: 'Browsers in which the user of the session cookie is signed in, oldest first.',
        tags,
        querystring: ListQuery,
        response: { 200: BrowserSessionList },
      },
      config: isRead,
    },
    async (request) =>
      listOwnSessions(deps, await requireSession(deps, request.method, request.headers), request.query),
  );
  app.delete(
    '/v1/browser-sessions/:session_id',
    {
      schema: {
        summary: 'Sign out of one of your sessions',
        tags,
        params: Type.Object({ session_id: Type.String() }),
        response: { 200: DeletedBrowserSession },
      },
      config: isChange,
    },
    async (request) =>
      endOwnSession(deps, await requireSession(deps, request.method, request.headers), request.params.session_id),
  );
}

function identityRoutes(app: App, deps: SessionDeps): void {
  app.get(
    '/v1/session/identities',
    {
      schema: {
        summary: 'List your identities',
        description: 'Persons of OpenID Connect issuers that sign in as the user of the session cookie, oldest first.',
        tags,
        querystring: ListQuery,
        response: { 200: IdentityList },
      },
      config: isRead,
    },
    async (request) => listIdentities(deps, await requireSession(deps, request.method, request.headers), request.query),
  );
  app.delete(
    '/v1/session/identities/:identity_id',
    {
      schema: {
        summary: 'Remove one of your identities',
        description:
          'It does not sign in any more, and all other sessions of the user end. The only way to sign in of a user without a password stays.',
        tags,
        params: Type.Object({ identity_id: Type.String() }),
        response: { 200: DeletedIdentity },
      },
      config: isChange,
    },
    async (request) => {
      const session = await requireSession(deps, request.method, request.headers);
      return removeIdentity(deps, readClient(request), session, request.params.identity_id);
    },
  );
}
