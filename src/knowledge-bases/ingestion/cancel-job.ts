import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { deleteFileUses } from '../../files/store.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { toJobError } from '../jobs/job-error.ts';
import type { IngestionJob } from '../jobs/schema.ts';
import { selectJob } from '../jobs/store.ts';
import { viewJob } from '../jobs/view-job.ts';
import { endJob, lockSource, selectJobContext } from './store.ts';

/**
 * Ends an unfinished job as `failed` with the error `cancelled`; its documents stay as they are. A run of the job, in
 * any process, writes nothing more and ends at its next write, or when OCR has read a page. Returns a finished job
 * unchanged. Throws 404 `knowledge_base_not_found` and `ingestion_job_not_found`.
 */
export async function cancelJob(
  deps: Pick<Deps, 'db' | 'now'>,
  organizationId: string,
  { kb_id, job_id }: { kb_id: string; job_id: string },
): Promise<IngestionJob> {
  const base = await findKnowledgeBase(deps, organizationId, kb_id);
  const ids = { baseId: base.id, id: job_id };
  const select = () => selectJob(deps.db.sql, organizationId, ids);
  const job = await findRow('ingestionJob', job_id, 'job_id', select);
  await deps.db.sql.transaction(async (sql) => {
    await lockSource(sql, base.id, job.dataSourceId);
    const context = await selectJobContext(sql, job_id);
    if (context === null || context.job.status === 'completed' || context.job.status === 'failed') return;
    const error = toJobError(new IngestionError('cancelled', 'The job was cancelled.'));
    await endJob(sql, context, { error, at: new Date(deps.now()) });
    await deleteFileUses(sql, job_id);
  });
  return viewJob((await select()) ?? job);
}
