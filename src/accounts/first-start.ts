import type { Database } from '../db/db.ts';
import { SCOPES } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { createKey } from './create-key.ts';
import { FIRST_ORGANIZATION } from './first-organization.ts';
import { hasAnyApiKey, insertOrganization } from './store.ts';

/**
 * On the first start of an instance: creates the organization `default` and one key with every scope, and returns that
 * key; `bootstrapKey` is used instead of an invented one. Null when any key exists already. `requireNew` throws when there is data that
 * another database knows.
 */
export async function firstStart(
  deps: { db: Database; requireNew: () => Promise<void> },
  bootstrapKey: string | null,
): Promise<string | null> {
  if (await hasAnyApiKey(deps.db.sql)) return null;
  await deps.requireNew();
  await insertOrganization(deps.db.sql, newId('organization'), FIRST_ORGANIZATION);
  const wanted = {
    organization: FIRST_ORGANIZATION,
    name: 'first',
    scopes: SCOPES,
    models: null,
    expiresInSeconds: null,
  };
  return (await createKey(deps, wanted, bootstrapKey)).key;
}
