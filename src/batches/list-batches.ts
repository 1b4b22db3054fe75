import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { selectBatches } from './store.ts';
import { viewListedBatch } from './view-batch.ts';

/** Lists a page of batches, oldest first. */
export async function listBatches(deps: Pick<Deps, 'db'>, organizationId: string, query: ListQuery) {
  const bounds = pageBounds(query, 'batch');
  const rows = await selectBatches(deps.db.sql, organizationId, bounds);
  return page(rows.map(viewListedBatch), bounds.limit);
}
