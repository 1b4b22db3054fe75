import { findRow } from '../db/find-row.ts';
import type { Deps } from '../deps.ts';
import type { Batch } from './schema.ts';
import { selectBatch } from './store.ts';
import { viewBatch } from './view-batch.ts';

/** Finds a batch of the organization. Throws 404 `batch_not_found` for unknown ids and other organizations. */
export async function findBatch(deps: Pick<Deps, 'db'>, organizationId: string, id: string): Promise<Batch> {
  return viewBatch(await findRow('batch', id, 'batch_id', () => selectBatch(deps.db.sql, organizationId, id)));
}
