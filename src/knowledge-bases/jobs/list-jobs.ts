import { page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { JobListQuery } from './schema.ts';
import { selectJobs } from './store.ts';
import { viewJob } from './view-job.ts';

/** Lists a knowledge base's jobs, oldest first. Throws 404 `knowledge_base_not_found`. */
export async function listJobs(deps: Pick<Deps, 'db'>, organizationId: string, baseId: string, query: JobListQuery) {
  const bounds = pageBounds(query, 'ingestionJob');
  const base = await findKnowledgeBase(deps, organizationId, baseId);
  const rows = await selectJobs(deps.db.sql, base.id, query.status, bounds);
  return page(rows.map(viewJob), bounds.limit);
}
