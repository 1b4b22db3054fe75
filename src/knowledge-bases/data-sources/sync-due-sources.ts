import type { Deps } from '../../deps.ts';
import { serviceCaller } from '../../lib/caller.ts';
import { describeError } from '../../lib/operator-error.ts';
import { selectUnfinishedJobs } from '../jobs/store.ts';
import { lockKnowledgeBase } from '../store.ts';
import { nextRun } from './schedule.ts';
import { startSync } from './start-sync.ts';
import { lockDataSource, selectScheduledSources } from './store.ts';

type SyncDeps = Pick<Deps, 'db' | 'jobs' | 'logger' | 'now'>;

/**
 * Queues a sync of every data source whose `config.schedule` is due, counted from its last sync. Syncs that were due
 * while no process ran are made up for once. May run in several processes at once; queues nothing twice.
 */
export async function syncDueSources(deps: SyncDeps): Promise<void> {
  for (const scheduled of await selectScheduledSources(deps.db.sql)) {
    try {
      if (nextRun(scheduled.schedule, scheduled.lastCreatedAt).getTime() <= deps.now())
        await queueSync(deps, scheduled);
    } catch (error) {
      deps.logger.warn(
        { dataSource: scheduled.id, reason: describeError(error) },
        'scheduled sync could not be queued',
      );
    }
  }
}

async function queueSync(deps: SyncDeps, scheduled: Awaited<ReturnType<typeof selectScheduledSources>>[number]) {
  const { id, organizationId, baseId, lastJobId, keyId } = scheduled;
  await deps.db.sql.transaction(async (sql) => {
    await lockKnowledgeBase(sql, organizationId, baseId);
    const source = await lockDataSource(sql, organizationId, { baseId, id });
    // Another process may have queued it, or a caller deleted it, since it was selected.
    if (source === null || (await selectUnfinishedJobs(sql, id)).length > 0) return;
    const current = (await selectScheduledSources(sql, [id]))[0];
    if (current?.lastJobId === lastJobId) await startSync(sql, deps, serviceCaller(organizationId, keyId), source);
  });
}
