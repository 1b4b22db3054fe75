import { isDeepStrictEqual } from 'node:util';
import { recordChange, toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { requireFiles } from '../../files/use-file.ts';
import { requireScope } from '../../http/auth.ts';
import type { Call } from '../../lib/caller.ts';
import { DecryptionError } from '../../lib/secrets.ts';
import { requireText } from '../create-knowledge-base.ts';
import type { Metadata } from '../tables.ts';
import { namedFiles } from './create-data-source.ts';
import { type DataSourcePath, findAndLockDataSource } from './find-data-source.ts';
import type { DataSource, UpdateDataSource } from './schema.ts';
import { decryptConfig, encryptConfig, mergeConfig, parseConfig } from './source-config.ts';
import { startSync } from './start-sync.ts';
import { type DataSourceRow, updateDataSourceRow } from './store.ts';
import { viewDataSource } from './view-data-source.ts';

type UpdateDeps = Pick<Deps, 'db' | 'jobs' | 'secrets' | 'now'>;

/**
 * Changes name or config; a changed config starts a sync. Throws 404 as `findDataSource` does and for unknown files,
 * 400 and 403 as `createDataSource` does.
 */
export async function updateDataSource(
  deps: UpdateDeps,
  call: Call,
  path: DataSourcePath,
  body: UpdateDataSource,
): Promise<DataSource> {
  if (body.type !== undefined) throw invalidValue('type', 'cannot be changed after creation');
  const { caller } = call;
  const { organizationId } = caller;
  const row = await deps.db.sql.transaction(async (sql) => {
    const before = await findAndLockDataSource(sql, organizationId, path);
    const namesFiles = before.type === 'file_upload' && body.config?.['file_ids'] !== undefined;
    if (namesFiles) requireScope(caller, 'files', 'config.file_ids');
    const renamed: DataSourceRow = {
      ...before,
      name: body.name === undefined ? before.name : requireText(body.name, 'name'),
      updatedAt: new Date(deps.now()),
    };
    const config = body.config === undefined ? null : await mergeChanges(sql, deps, before, body.config);
    const after: DataSourceRow = config === null ? renamed : { ...renamed, ...config, status: 'processing' };
    await updateDataSourceRow(sql, after);
    if (config !== null) await startSync(sql, deps, caller, after);
    const changes = [
      ...(after.name === before.name ? [] : [{ field: 'name' }]),
      ...(config === null ? [] : [{ field: 'config' }]),
    ];
    const change = { organizationId, resourceId: after.id, changes };
    await recordChange(sql, toActor(call), { action: 'data_source.updated', ...change });
    return after;
  });
  return viewDataSource(deps.db.sql, row);
}

/** Returns the stored form of the merged config; null when nothing changed. */
async function mergeChanges(
  sql: Sql,
  deps: UpdateDeps,
  before: DataSourceRow,
  changes: Metadata,
): Promise<Pick<DataSourceRow, 'config' | 'sealedSecrets'> | null> {
  const { id, type } = before;
  const config = parseConfig(type, mergeConfig(deps, before, changes));
  // Files that the source already has may have been deleted since, and are not checked.
  if (changes['file_ids'] !== undefined) {
    await requireFiles(sql, before.organizationId, namedFiles({ type, config }, changes));
  }
  return isSame(deps, before, config) ? null : encryptConfig(deps, { id, type, config });
}

function isSame(deps: UpdateDeps, before: DataSourceRow, config: Metadata): boolean {
  try {
    return isDeepStrictEqual(decryptConfig(deps, before), config);
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}
