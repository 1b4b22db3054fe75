import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import type { Batch } from './schema.ts';
import { selectBatch } from './store.ts';
import { viewBatch } from './view-batch.ts';

/** Finds a batch of the organization. Throws 404 `batch_not_found` for unknown ids and other organizations. */
export async function findBatch(deps: Pick<Deps, 'db'>, organizationId: string, id: string): Promise<Batch> {
  const row = isId('batch', id) ? await selectBatch(deps.db.sql, organizationId, id) : null;
  if (row === null) throw notFound('batch', id, 'batch_id');
  return viewBatch(row);
}
