import { recordChange, SERVICE_ACTOR } from '../audit/record-change.ts';
import type { Database } from '../db/db.ts';
import { DEFAULT_ORGANIZATION, SCOPES } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { addKey } from './add-key.ts';
import {
  hasAnyApiKey,
  insertOrganization,
  lockOrganization,
  selectOldestUnusedKey,
  selectOrganizationByName,
} from './store.ts';

/** The bootstrap key, until any key of the instance has been used. */
export interface BootstrapKey {
  id: string;
  /** Null when an earlier start created the key. */
  secret: string | null;
}

/**
 * Creates the organization `default` and an API key with every scope on the first start of an instance, and returns the
 * key. Later starts return it without its secret, and null once any key has been used. `configuredKey` replaces the
 * generated key.
 *
 * Called when the service listens: a start that fails earlier creates no key that nobody has seen.
 */
export async function bootstrapAccounts(
  { db }: { db: Pick<Database, 'sql'> },
  configuredKey: string | null,
): Promise<BootstrapKey | null> {
  if (await hasAnyApiKey(db.sql)) {
    const id = await selectOldestUnusedKey(db.sql);
    return id === null ? null : { id, secret: null };
  }
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
      configuredKey ?? undefined,
    );
    const changes = [{ field: 'scopes', to: SCOPES }];
    await recordChange(sql, SERVICE_ACTOR, {
      action: 'organization.created',
      organizationId,
      resourceId: organizationId,
    });
    await recordChange(sql, SERVICE_ACTOR, { action: 'api_key.created', organizationId, resourceId: row.id, changes });
    return { id: row.id, secret };
  });
}
