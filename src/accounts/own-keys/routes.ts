import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { ApiKey, ApiKeyWithSecret, KeyParams } from '../keys/schema.ts';
import { getKeyPolicy, updateKeyPolicy } from './key-policy.ts';
import { createOwnKey, listOwnKeys, revokeOwnKey } from './manage-own-keys.ts';
import { CreateOwnKey, KeyPolicy, OwnKeyList, UpdateKeyPolicy } from './schema.ts';

const tags = ['Console'];
const personal = { scope: 'keys', openToUsers: true } as const;

/** `/v1/key-policy` and `/v1/own-keys`: keys that people make for themselves, within the limits of an owner. */
export function ownKeyRoutes(app: App, deps: AccountAdminDeps): void {
  app.get(
    '/v1/key-policy',
    {
      schema: {
        summary: 'Get the limits of own keys',
        description: 'Returns the limits of keys that people create for themselves. All users can read them.',
        tags,
        response: { 200: KeyPolicy },
      },
      config: { scope: 'keys', openToUsers: true },
    },
    async (request) => getKeyPolicy(deps, toCall(request)),
  );
  app.put(
    '/v1/key-policy',
    {
      schema: {
        summary: 'Change the limits of own keys',
        description: 'Does not change existing keys. Requires the scope `keys`.',
        tags,
        body: UpdateKeyPolicy,
        response: { 200: KeyPolicy },
      },
      config: { scope: 'keys' },
    },
    async (request) => updateKeyPolicy(deps, toCall(request), request.body),
  );
  personalRoutes(app, deps);
}

function personalRoutes(app: App, deps: AccountAdminDeps): void {
  app.get(
    '/v1/own-keys',
    {
      schema: {
        summary: 'List your own keys',
        description: 'Returns the newest 100 keys, including revoked and expired keys. Only for users of the console.',
        tags,
        response: { 200: OwnKeyList },
      },
      config: personal,
    },
    async (request) => listOwnKeys(deps, toCall(request)),
  );
  app.post(
    '/v1/own-keys',
    {
      schema: {
        summary: 'Create a key of your own',
        description:
          'The key must be within the limits of `/v1/key-policy`. Returns the secret, which is shown only once. The key is revoked when you leave the organization or become a viewer.',
        tags,
        body: CreateOwnKey,
        response: { 200: ApiKeyWithSecret },
      },
      config: { ...personal, idempotent: 'sealed' },
    },
    async (request) => createOwnKey(deps, toCall(request), request.body),
  );
  app.post(
    '/v1/own-keys/:key_id/revoke',
    {
      schema: {
        summary: 'Revoke a key of your own',
        description: 'Revokes the key permanently, in all processes within a second.',
        tags,
        params: KeyParams,
        response: { 200: ApiKey },
      },
      config: personal,
    },
    async (request) => revokeOwnKey(deps, toCall(request), request.params.key_id),
  );
}
