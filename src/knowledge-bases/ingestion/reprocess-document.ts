import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import type { Caller } from '../../lib/caller.ts';
import { findAndLockDataSource } from '../data-sources/find-data-source.ts';
import { startSync } from '../data-sources/start-sync.ts';
import { type DocumentPath, findDocument } from '../documents/find-document.ts';
import { forgetItemVersion } from '../documents/store.ts';
import type { IngestionJob } from '../jobs/schema.ts';
import { viewJob } from '../jobs/view-job.ts';

/**
 * Queues a sync that reads the item of a document again, chunks and embeds it, although it has not changed. The
 * document stays searchable until then. Returns the job. Throws 404 `knowledge_base_not_found` and
 * `document_not_found`, 403 as `startSync` does.
 */
export async function reprocessDocument(
  deps: Pick<Deps, 'db' | 'jobs' | 'now'>,
  caller: Caller,
  path: DocumentPath,
): Promise<IngestionJob> {
  const { dataSourceId, itemKey } = await findDocument(deps, caller.organizationId, path);
  const job = await deps.db.sql.transaction(async (sql) => {
    const source = await findAndLockDataSource(sql, caller.organizationId, { kb_id: path.kb_id, ds_id: dataSourceId });
    if (!(await forgetItemVersion(sql, source.id, itemKey))) {
      throw notFound('document', path.document_id, 'document_id');
    }
    return startSync(sql, deps, caller, source);
  });
  return viewJob(job);
}
