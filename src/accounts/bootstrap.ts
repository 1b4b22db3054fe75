import { recordChange, SERVICE_ACTOR } from '../audit/record-change.ts';
import type { Database } from '../db/db.ts';
import { DEFAULT_ORGANIZATION, SCOPES } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { addKey } from './add-key.ts';
import { hasAnyApiKey, insertOrganization, lockOrganization, selectOrganizationByName } from './store.ts';

/**
 * Creates the organization `default` and an API key with every scope on the first start of an instance. Returns the key; null when
 * any key exists, also one that another process creates at the same time. `bootstrapKey` replaces the generated key. `requireNew` throws when the data folder belongs to another database.
 */
export async function bootstrapAccounts(
  { db, requireNew }: { db: Database; requireNew: () => Promise<void> },
  bootstrapKey: string | null,
): Promise<string | null> {
  if (await hasAnyApiKey(db.sql)) return null;
  await requireNew();
  return db.sql.transaction(async (sql) => {
    await insertOrganization(sql, newId('organization'), DEFAULT_ORGANIZATION);
    const organization = await selectOrganizationByName(sql, DEFAULT_ORGANIZATION);
    if (organization === null) throw new Error('the default organization was not inserted');
    const organizationId = organization.id;
    // Services that start together on a new database: the row lock lets one of them create the key, the others find it.
    await lockOrganization(sql, organizationId);
    if (await hasAnyApiKey(sql)) return null;
    const unlimited = { models: null, limits: null, budget: null, expiresAt: null };
    const { row, secret } = await addKey(
      sql,
      { organizationId, name: 'first', scopes: SCOPES, ...unlimited },
      bootstrapKey ?? undefined,
    );
    const changes = [{ field: 'scopes', to: SCOPES }];
    await recordChange(sql, SERVICE_ACTOR, {
      action: 'organization.created',
      organizationId,
      resourceId: organizationId,
    });
    await recordChange(sql, SERVICE_ACTOR, { action: 'api_key.created', organizationId, resourceId: row.id, changes });
    return secret;
  });
}
