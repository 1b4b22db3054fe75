import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { BatchListQuery } from './schema.ts';
import { selectBatches } from './store.ts';
import { viewListedBatch } from './view-batch.ts';

/** Lists a page of batches. */
export async function listBatches(deps: Pick<Deps, 'db'>, organizationId: string, query: BatchListQuery) {
  const bounds = pageBounds(query, 'batch');
  const rows = await selectBatches(deps.db.sql, organizationId, bounds, query.order);
  return page(rows.map(viewListedBatch), bounds.limit);
}
