import { page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import type { Caller } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import { selectApiKeys, selectOrganization } from '../store.ts';
import { mayManage } from './key-access.ts';
import type { KeysQuery } from './schema.ts';
import { viewKey } from './view-key.ts';

/** A page of keys: of one organization, or of all with the scope `admin`. Throws 404 `organization_not_found`. */
export async function listKeys(deps: Pick<Deps, 'db' | 'config' | 'now'>, caller: Caller, query: KeysQuery) {
  const bounds = pageBounds(query, 'apiKey');
  const { organization_id: requested } = query;
  if (requested !== undefined) {
    const isKnown =
      isId('organization', requested) &&
      mayManage(caller, requested) &&
      (await selectOrganization(deps.db.sql, requested)) !== null;
    if (!isKnown) throw notFound('organization', requested, 'organization_id');
  }
  const organizationId = requested ?? (caller.scopes.has('admin') ? null : caller.organizationId);
  const rows = await selectApiKeys(deps.db.sql, { organizationId, search: query.search, order: query.order }, bounds);
  return page(
    rows.map((row) => viewKey(row, deps)),
    bounds.limit,
  );
}
