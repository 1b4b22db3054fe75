import type { Deps } from '../../deps.ts';
import type { Caller } from '../../lib/caller.ts';
import type { IngestionJob } from '../jobs/schema.ts';
import { selectUnfinishedJobs } from '../jobs/store.ts';
import { viewJob } from '../jobs/view-job.ts';
import { type DataSourcePath, holdDataSource } from './find-data-source.ts';
import { startSync } from './start-sync.ts';

/** Has the data source read anew. When a job of it runs or waits already, it is that one. Throws 404 as `findDataSource` does. */
export async function syncDataSource(
  deps: Pick<Deps, 'db' | 'jobs' | 'now'>,
  caller: Caller,
  path: DataSourcePath,
): Promise<IngestionJob> {
  const job = await deps.db.sql.transaction(async (sql) => {
    const source = await holdDataSource(sql, caller.organizationId, path);
    const latest = (await selectUnfinishedJobs(sql, source.id)).find(({ kind }) => kind === 'sync');
    return latest ?? (await startSync(sql, deps, caller, source));
  });
  return viewJob(job);
}
