import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { PasswordReset, UserList, UsersQuery } from '../schema.ts';
import { createPasswordReset, listUsers } from './reset-password.ts';

const tags = ['Admin'];

/** `/v1/admin/users`: the people of the instance, and links that set a lost password. */
export function userAdminRoutes(app: App, deps: Pick<Deps, 'db' | 'now'>): void {
  app.get(
    '/v1/admin/users',
    {
      schema: {
        summary: 'List the users of the console',
        description: 'People of all organizations, oldest first. Requires the scope `admin`.',
        tags,
        querystring: UsersQuery,
        response: { 200: UserList },
      },
      config: { scope: 'admin' },
    },
    async (request) => listUsers(deps, request.query),
  );
  app.post(
    '/v1/admin/users/:user_id/password-reset',
    {
      schema: {
        summary: 'Create a link that sets the password of a user',
        description:
          'For operators, and for owners where the user belongs to their organization only and is no operator. The token is shown once; the link is `/reset#TOKEN` of the console. It works once, for a day, and ends the sessions of the user. An open link ends when the memberships, the role or the password of the user change, or its creator loses the right to create it.',
        tags,
        params: Type.Object({ user_id: Type.String() }),
        response: { 200: PasswordReset },
      },
      config: { scope: 'keys', idempotent: 'sealed' },
    },
    async (request) => createPasswordReset(deps, toCall(request), request.params.user_id),
  );
}
