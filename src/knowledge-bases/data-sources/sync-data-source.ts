import type { Deps } from '../../deps.ts';
import type { Caller } from '../../lib/caller.ts';
import type { IngestionJob } from '../jobs/schema.ts';
import { selectUnfinishedJobs } from '../jobs/store.ts';
import { viewJob } from '../jobs/view-job.ts';
import { type DataSourcePath, findAndLockDataSource } from './find-data-source.ts';
import { startSync } from './start-sync.ts';

/** Queues a sync, or returns the job that is queued or running. Throws 404 as `findDataSource` does. */
export async function syncDataSource(
  deps: Pick<Deps, 'db' | 'jobs' | 'now'>,
  caller: Caller,
  path: DataSourcePath,
): Promise<IngestionJob> {
  const job = await deps.db.sql.transaction(async (sql) => {
    const source = await findAndLockDataSource(sql, caller.organizationId, path);
    const unfinished = (await selectUnfinishedJobs(sql, source.id)).find(({ kind }) => kind === 'sync');
    return unfinished ?? (await startSync(sql, deps, caller, source));
  });
  return viewJob(job);
}
