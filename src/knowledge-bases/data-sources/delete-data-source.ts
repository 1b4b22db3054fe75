import { recordChange, toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { deleteFileUses } from '../../files/store.ts';
import type { Call } from '../../lib/caller.ts';
import { insertTombstonesOfSource } from '../documents/store.ts';
import { applyTombstones } from '../documents/tombstones.ts';
import { selectUnfinishedJobs } from '../jobs/store.ts';
import { type DataSourcePath, findAndLockDataSource } from './find-data-source.ts';
import type { DeletedDataSource } from './schema.ts';
import { type DataSourceRow, deleteDataSourceRow, updateStatusFromJobs } from './store.ts';

/**
 * Deletes a data source with its jobs, documents and chunks, even while a job runs. Searches no longer return its
 * chunks once this resolves. Throws 404 as `findDataSource` does.
 */
export async function deleteDataSource(
  deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>,
  call: Call,
  path: DataSourcePath,
): Promise<DeletedDataSource> {
  const { organizationId } = call.caller;
  const source = await deps.db.sql.transaction(async (sql) => {
    const row = await findAndLockDataSource(sql, organizationId, path);
    await removeDataSource(sql, row, deps.now());
    await recordChange(sql, toActor(call), { action: 'data_source.deleted', organizationId, resourceId: row.id });
    return row;
  });
  await applyTombstones(deps, source.knowledgeBaseId);
  return { id: source.id, object: 'data_source', deleted: true };
}

/** Deletes a locked data source in a transaction. Callers run `applyTombstones` after the commit, or a sweep does. */
export async function removeDataSource(sql: Sql, row: DataSourceRow, nowMs: number): Promise<void> {
  for (const { id } of await selectUnfinishedJobs(sql, row.id)) await deleteFileUses(sql, id);
  await insertTombstonesOfSource(sql, row.id, new Date(nowMs));
  await deleteDataSourceRow(sql, row);
  await updateStatusFromJobs(sql, row.knowledgeBaseId);
}
