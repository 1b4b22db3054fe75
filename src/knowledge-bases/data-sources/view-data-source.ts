import type { DataSource, ListedDataSource } from './schema.ts';
import { redactConfig } from './secret-fields.ts';
import type { DataSourceRow } from './store.ts';

/** The data source as a list shows it. */
export function viewListed(row: DataSourceRow): ListedDataSource {
  return {
    id: row.id,
    object: 'data_source',
    knowledge_base_id: row.knowledgeBaseId,
    type: row.type,
    name: row.name,
    status: row.status,
    document_count: row.documentCount,
    created_at: seconds(row.createdAt),
    last_synced_at: row.lastSyncedAt === null ? null : seconds(row.lastSyncedAt),
  };
}

/** The whole data source; no secret of it. */
export function viewDataSource(row: DataSourceRow): DataSource {
  return { ...viewListed(row), config: redactConfig(row), updated_at: seconds(row.updatedAt) };
}

/** Unix seconds. */
function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
