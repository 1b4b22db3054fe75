import type { Sql } from '../../db/db.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { JobError } from '../jobs/job-error.ts';
import { nextRun } from './schedule.ts';
import type { DataSource, ListedDataSource } from './schema.ts';
import { redactConfig } from './source-config.ts';
import { type DataSourceRow, selectScheduledSources } from './store.ts';

/** Converts rows to data sources of the API. */
export async function viewListedDataSources(sql: Sql, rows: readonly DataSourceRow[]): Promise<ListedDataSource[]> {
  const ids = rows.flatMap(({ id, config }) => (config['schedule'] === undefined ? [] : [id]));
  const scheduled = ids.length === 0 ? [] : await selectScheduledSources(sql, ids);
  const nextSyncs = new Map(scheduled.map(({ id, schedule, lastCreatedAt }) => [id, nextRun(schedule, lastCreatedAt)]));
  return rows.map((row) => viewListed(row, nextSyncs.get(row.id)));
}

function viewListed(row: DataSourceRow, nextSync: Date | undefined): ListedDataSource {
  return {
    id: row.id,
    object: 'data_source',
    knowledge_base_id: row.knowledgeBaseId,
    type: row.type,
    name: row.name,
    status: row.status,
    document_count: row.documentCount,
    created_at: toUnixSeconds(row.createdAt),
    last_synced_at: row.lastSyncedAt === null ? null : toUnixSeconds(row.lastSyncedAt),
    next_sync_at: nextSync === undefined ? null : toUnixSeconds(nextSync),
    error: row.error as JobError | null,
  };
}

/** Converts a row to the data source object, with redacted secrets. */
export async function viewDataSource(sql: Sql, row: DataSourceRow): Promise<DataSource> {
  const [listed] = await viewListedDataSources(sql, [row]);
  return { ...(listed as ListedDataSource), config: redactConfig(row), updated_at: toUnixSeconds(row.updatedAt) };
}
