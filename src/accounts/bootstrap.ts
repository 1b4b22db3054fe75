import type { Database } from '../db/db.ts';
import { DEFAULT_ORGANIZATION, SCOPES } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { createKey } from './create-key.ts';
import { hasAnyApiKey, insertOrganization } from './store.ts';

/**
 * Creates the organization `default` and an API key with every scope on the first start of an instance. Returns the key; null when
 * any key exists. `bootstrapKey` replaces the generated key. `requireNew` throws when the data folder belongs to another database.
 */
export async function bootstrapAccounts(
  deps: { db: Database; requireNew: () => Promise<void> },
  bootstrapKey: string | null,
): Promise<string | null> {
  if (await hasAnyApiKey(deps.db.sql)) return null;
  await deps.requireNew();
  await insertOrganization(deps.db.sql, newId('organization'), DEFAULT_ORGANIZATION);
  const properties = {
    organization: DEFAULT_ORGANIZATION,
    name: 'first',
    scopes: SCOPES,
    models: null,
    expiresInSeconds: null,
  };
  return (await createKey(deps, properties, bootstrapKey)).key;
}
