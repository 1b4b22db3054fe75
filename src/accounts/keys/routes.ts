import { listSchema } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { revokeKey, rotateKey, updateKey } from './change-key.ts';
import { createKey } from './create-key.ts';
import { findManagedKey } from './key-access.ts';
import { listKeys } from './list-keys.ts';
import { ApiKey, ApiKeyWithSecret, CreateKey, KeyParams, KeysQuery, RotateKey, UpdateKey } from './schema.ts';
import { viewKey } from './view-key.ts';

const tags = ['Admin'];
const config = { scope: 'keys' } as const;
const params = KeyParams;
const RIGHTS =
  'The scope `admin` manages the keys of all organizations; `keys` those of its own organization, within the rights of the calling key.';

/** `/v1/admin/keys`: `POST`, `GET`, `PATCH`, rotation and revocation. */
export function keyRoutes(app: App, deps: AccountAdminDeps): void {
  app.post(
    '/v1/admin/keys',
    {
      schema: {
        summary: 'Create an API key',
        description: `Returns the secret, which is shown once. ${RIGHTS}`,
        tags,
        body: CreateKey,
        response: { 200: ApiKeyWithSecret },
      },
      config: { ...config, idempotent: 'sealed' },
    },
    async (request) => createKey(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/admin/keys',
    {
      schema: {
        summary: 'List the API keys',
        description: `Includes revoked and expired keys; no secrets. ${RIGHTS}`,
        tags,
        querystring: KeysQuery,
        response: { 200: listSchema(ApiKey) },
      },
      config,
    },
    async (request) => listKeys(deps, toCall(request).caller, request.query),
  );
  app.get(
    '/v1/admin/keys/:key_id',
    { schema: { summary: 'Get an API key', description: RIGHTS, tags, params, response: { 200: ApiKey } }, config },
    async (request) => viewKey(await findManagedKey(deps.db.sql, toCall(request).caller, request.params.key_id), deps),
  );
  changeRoutes(app, deps);
}

function changeRoutes(app: App, deps: AccountAdminDeps): void {
  app.patch(
    '/v1/admin/keys/:key_id',
    {
      schema: {
        summary: 'Change an API key',
        description: `Changes take effect in every process within a second. ${RIGHTS}`,
        tags,
        params,
        body: UpdateKey,
        response: { 200: ApiKey },
      },
      config,
    },
    async (request) => updateKey(deps, toCall(request), request.params.key_id, request.body),
  );
  app.post(
    '/v1/admin/keys/:key_id/rotate',
    {
      schema: {
        summary: 'Rotate an API key',
        description: `Replaces the secret; id, properties, usage and budget stay. Returns the new secret, which is shown once. ${RIGHTS}`,
        tags,
        params,
        body: RotateKey,
        response: { 200: ApiKeyWithSecret },
      },
      config: { ...config, idempotent: 'sealed' },
    },
    async (request) => rotateKey(deps, toCall(request), request.params.key_id, request.body),
  );
  app.post(
    '/v1/admin/keys/:key_id/revoke',
    {
      schema: {
        summary: 'Revoke an API key',
        description: `Revokes the key permanently, in all processes within a second. ${RIGHTS}`,
        tags,
        params,
        response: { 200: ApiKey },
      },
      config,
    },
    async (request) => revokeKey(deps, toCall(request), request.params.key_id),
  );
}
