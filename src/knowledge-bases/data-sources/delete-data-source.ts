import type { Deps } from '../../deps.ts';
import { deleteFileUses } from '../../files/store.ts';
import { insertDroppedDocumentsOf } from '../documents/store.ts';
import { tombstoneDocuments } from '../documents/tombstones.ts';
import { selectUnfinishedJobs } from '../jobs/store.ts';
import { type DataSourcePath, holdDataSource } from './find-data-source.ts';
import type { DeletedDataSource } from './schema.ts';
import { deleteDataSourceRow, updateStatusFromJobs } from './store.ts';

/**
 * Deletes a data source with its jobs, its documents and their chunks: it wins over a job that runs. Once answered, nothing of it is
 * ever found again. Throws 404 as `findDataSource` does.
 */
export async function deleteDataSource(
  deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>,
  organizationId: string,
  path: DataSourcePath,
): Promise<DeletedDataSource> {
  const source = await deps.db.sql.transaction(async (sql) => {
    const row = await holdDataSource(sql, organizationId, path);
    for (const { id } of await selectUnfinishedJobs(sql, row.id)) await deleteFileUses(sql, id);
    await insertDroppedDocumentsOf(sql, row.id, new Date(deps.now()));
    await deleteDataSourceRow(sql, row);
    await updateStatusFromJobs(sql, row.knowledgeBaseId);
    return row;
  });
  await tombstoneDocuments(deps, source.knowledgeBaseId);
  return { id: source.id, object: 'data_source', deleted: true };
}
