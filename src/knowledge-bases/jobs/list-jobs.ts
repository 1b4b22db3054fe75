import { page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { isId } from '../../lib/ids.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { JobListQuery } from './schema.ts';
import { selectJobs } from './store.ts';
import { viewJob } from './view-job.ts';

/** Lists a knowledge base's jobs, by default oldest first. Throws 404 `knowledge_base_not_found`. */
export async function listJobs(deps: Pick<Deps, 'db'>, organizationId: string, baseId: string, query: JobListQuery) {
  const bounds = pageBounds(query, 'ingestionJob');
  if (query.data_source_id !== undefined && !isId('dataSource', query.data_source_id)) {
    throw invalidValue('data_source_id', 'must be the id of a data source');
  }
  const base = await findKnowledgeBase(deps, organizationId, baseId);
  const rows = await selectJobs(deps.db.sql, base.id, query, bounds);
  return page(rows.map(viewJob), bounds.limit);
}
