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
        description: 'What people of the organization may give to keys of their own. Open to all users.',
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
        description: 'Keys that exist stay as they are. Requires the scope `keys`.',
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
        description: 'The newest 100, with revoked and expired ones. For users of the console.',
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
          'Within the limits of `/v1/key-policy`. Returns the secret, which is shown once. The key is revoked when you leave the organization or become a viewer.',
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
        description: 'For good, in every process within a second.',
        tags,
        params: KeyParams,
        response: { 200: ApiKey },
      },
      config: personal,
    },
    async (request) => revokeOwnKey(deps, toCall(request), request.params.key_id),
  );
}
