import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { isId } from '../../lib/ids.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { type DetailedJob, type JobQuery, MAX_DETAILS } from './schema.ts';
import { selectJob, selectJobDocuments } from './store.ts';
import { viewDetail, viewJob } from './view-job.ts';

/** Returns a job with its documents. Throws 404 `knowledge_base_not_found` and `ingestion_job_not_found`. */
export async function findJob(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  { kb_id, job_id }: { kb_id: string; job_id: string },
  query: JobQuery,
): Promise<DetailedJob> {
  if (query.details_after !== undefined && !isId('document', query.details_after)) {
    throw invalidValue('details_after', "must be the 'document_id' of a detail");
  }
  const base = await findKnowledgeBase(deps, organizationId, kb_id);
  const ids = { baseId: base.id, id: job_id };
  const row = await findRow('ingestionJob', job_id, 'job_id', () => selectJob(deps.db.sql, organizationId, ids));
  const details = await selectJobDocuments(deps.db.sql, row.id, query, MAX_DETAILS + 1);
  return {
    ...viewJob(row),
    document_details: details.slice(0, MAX_DETAILS).map(viewDetail),
    document_details_has_more: details.length > MAX_DETAILS,
  };
}
