import { recordChange, toActor } from '../../audit/record-change.ts';
import type { Deps } from '../../deps.ts';
import { requireFiles } from '../../files/use-file.ts';
import { requireScope } from '../../http/auth.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { requireText } from '../create-knowledge-base.ts';
import { findAndLockKnowledgeBase, findKnowledgeBase } from '../find-knowledge-base.ts';
import type { Metadata } from '../tables.ts';
import type { CreateDataSource, DataSource } from './schema.ts';
import { encryptConfig, parseConfig } from './source-config.ts';
import { startSync } from './start-sync.ts';
import { type DataSourceRow, insertDataSource } from './store.ts';
import { viewDataSource } from './view-data-source.ts';

/**
 * Adds a data source and queues its ingestion, without a request to its service: the job checks the credentials. Throws
 * 404 `knowledge_base_not_found`, 404 `file_not_found` naming `config.file_ids.N`, 400 for an invalid config, 403 as
 * `startSync` does and for files without the scope `files`.
 */
export async function createDataSource(
  deps: Pick<Deps, 'db' | 'jobs' | 'secrets' | 'now'>,
  call: Call,
  baseId: string,
  body: CreateDataSource,
): Promise<DataSource> {
  const { caller } = call;
  const { organizationId } = caller;
  const row = newDataSource(deps, { organizationId, baseId, body });
  // Chunks expose the content of a file, so the key needs the scope to read it.
  if (row.type === 'file_upload') requireScope(caller, 'files', 'config.file_ids');
  await findKnowledgeBase(deps, organizationId, baseId);
  await deps.db.sql.transaction(async (sql) => {
    await findAndLockKnowledgeBase(sql, organizationId, baseId);
    await requireFiles(sql, organizationId, namedFiles(row, body.config));
    await insertDataSource(sql, row);
    await startSync(sql, deps, caller, row);
    await recordChange(sql, toActor(call), { action: 'data_source.created', organizationId, resourceId: row.id });
  });
  return viewDataSource(deps.db.sql, row);
}

/** Creates the row of a data source. Throws 400 naming the field of its config. */
export function newDataSource(
  deps: Pick<Deps, 'secrets' | 'now'>,
  { organizationId, baseId, body }: { organizationId: string; baseId: string; body: CreateDataSource },
): DataSourceRow {
  const { type } = body;
  const now = new Date(deps.now());
  const id = newId('dataSource');
  return {
    id,
    knowledgeBaseId: baseId,
    organizationId,
    type,
    name: body.name === undefined ? type : requireText(body.name, 'name'),
    ...encryptConfig(deps, { id, type, config: parseConfig(type, body.config) }),
    status: 'processing',
    documentCount: 0,
    createdAt: now,
    updatedAt: now,
    lastSyncedAt: null,
    error: null,
  };
}

/** Files of a config, without duplicates. `paramOf` names the first occurrence in `requested`, the config as sent. */
export function namedFiles({ type, config }: Pick<DataSourceRow, 'type' | 'config'>, requested: Metadata) {
  const fileIds = type === 'file_upload' ? (config['file_ids'] as string[]) : [];
  return {
    fileIds,
    purpose: 'knowledge-base' as const,
    paramAt: (index: number) => `config.file_ids.${(requested['file_ids'] as unknown[]).indexOf(fileIds[index])}`,
  };
}
