import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { useExistingFiles } from '../../files/use-file.ts';
import { requireModel } from '../../inference/admission.ts';
import type { Caller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { INGEST_SOURCE } from '../jobs/ingest-job.ts';
import { insertJob, type JobRow, newJobRow, selectUnfinishedJobs, updateToSync } from '../jobs/store.ts';
import { lockKnowledgeBase } from '../store.ts';
import { type DataSourceRow, markProcessing } from './store.ts';

/**
 * Queues a sync of a data source within the transaction that locks it, or reuses a queued job. A running job finishes
 * first. Protects the source's files from deletion until the job ends. Wake the queue after the commit. Throws 403 when
 * the key is limited to models without the embedding model of the knowledge base.
 */
export async function startSync(
  sql: Sql,
  deps: Pick<Deps, 'jobs' | 'now'>,
  caller: Caller,
  source: DataSourceRow,
): Promise<JobRow> {
  await requireEmbeddingModel(sql, caller, source);
  const queued = (await selectUnfinishedJobs(sql, source.id)).find(
    // An import reads its archive only.
    ({ status, kind }) => status === 'queued' && kind !== 'import',
  );
  const at = new Date(deps.now());
  const job = queued ?? newJobRow({ id: newId('ingestionJob'), source, keyId: caller.keyId, createdAt: at });
  if (queued === undefined) {
    await insertJob(sql, job);
    await deps.jobs.enqueue(sql, INGEST_SOURCE, { jobId: job.id }, { key: source.id, group: source.organizationId });
  } else if (queued.kind === 'embed') await updateToSync(sql, queued.id);
  const fileIds = source.type === 'file_upload' ? (source.config['file_ids'] as string[]) : [];
  await useExistingFiles(sql, source.organizationId, { fileIds, userId: job.id }, at);
  await markProcessing(sql, source);
  return job;
}

/** Checks the key's models here, because the job runs for the organization without the limits of a key. */
async function requireEmbeddingModel(sql: Sql, caller: Caller, source: DataSourceRow): Promise<void> {
  if (caller.models === null) return;
  const base = await lockKnowledgeBase(sql, source.organizationId, source.knowledgeBaseId);
  if (base !== null) requireModel(caller, base.embeddingModel, 'kb_id');
}
