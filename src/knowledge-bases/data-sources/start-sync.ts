import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { useExistingFiles } from '../../files/use-file.ts';
import { requireModel } from '../../inference/admission.ts';
import type { Caller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { insertJob, type JobRow, newJobRow, selectUnfinishedJobs, updateToSync } from '../jobs/store.ts';
import { lockKnowledgeBase } from '../store.ts';
import { type DataSourceRow, updateProcessing } from './store.ts';

/** What the start of a sync needs of the dependencies. */
export type SyncDeps = Pick<Deps, 'jobs' | 'now'>;

/**
 * Has the data source read from its beginning as it is now, in the transaction that holds it: by a job that waits for it already, or
 * by a new one, behind one that runs. Its files cannot be deleted until then. The caller wakes the queue after the commit.
 * Throws 403 when the key is limited to models without the embedding model of the knowledge base.
 */
export async function startSync(sql: Sql, deps: SyncDeps, caller: Caller, source: DataSourceRow): Promise<JobRow> {
  await requireEmbeddingModel(sql, caller, source);
  const waiting = (await selectUnfinishedJobs(sql, source.id)).find(({ status }) => status === 'queued');
  const at = new Date(deps.now());
  const job = waiting ?? newJobRow({ id: newId('ingestionJob'), source, keyId: caller.keyId, createdAt: at });
  if (waiting === undefined) {
    await insertJob(sql, job);
    await deps.jobs.enqueue(sql, INGEST_SOURCE, { jobId: job.id }, { key: source.id, group: source.organizationId });
  } else if (waiting.kind === 'embed') await updateToSync(sql, waiting.id);
  const fileIds = source.type === 'file_upload' ? (source.config['file_ids'] as string[]) : [];
  await useExistingFiles(sql, source.organizationId, { fileIds, userId: job.id }, at);
  await updateProcessing(sql, source);
  return job;
}

/** The job itself runs for the organization, without the limits of a key, so they are checked where it is queued. */
async function requireEmbeddingModel(sql: Sql, caller: Caller, source: DataSourceRow): Promise<void> {
  if (caller.models === null) return;
  const base = await lockKnowledgeBase(sql, source.organizationId, source.knowledgeBaseId);
  if (base !== null) requireModel(caller, base.embeddingModel, 'kb_id');
}
