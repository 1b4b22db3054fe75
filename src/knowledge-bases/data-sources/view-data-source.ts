import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { JobError } from '../jobs/job-error.ts';
import type { DataSource, ListedDataSource } from './schema.ts';
import { redactConfig } from './source-config.ts';
import type { DataSourceRow } from './store.ts';

/** Converts a row to the data source object of lists. */
export function viewListedDataSource(row: DataSourceRow): ListedDataSource {
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
    error: row.error as JobError | null,
  };
}

/** Converts a row to the data source object, with redacted secrets. */
export function viewDataSource(row: DataSourceRow): DataSource {
  return { ...viewListedDataSource(row), config: redactConfig(row), updated_at: toUnixSeconds(row.updatedAt) };
}
