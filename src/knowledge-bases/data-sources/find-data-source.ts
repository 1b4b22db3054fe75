import type { Sql } from '../../db/db.ts';
import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { findAndLockKnowledgeBase, findKnowledgeBase } from '../find-knowledge-base.ts';
import { type DataSourceRow, lockDataSource, selectDataSource } from './store.ts';

/** Path parameters of a data source. */
export interface DataSourcePath {
  kb_id: string;
  ds_id: string;
}

/** Returns a data source of the organization. Throws 404 `knowledge_base_not_found` and `data_source_not_found`. */
export async function findDataSource(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  { kb_id, ds_id }: DataSourcePath,
): Promise<DataSourceRow> {
  const base = await findKnowledgeBase(deps, organizationId, kb_id);
  const ids = { baseId: base.id, id: ds_id };
  return findRow('dataSource', ds_id, 'ds_id', () => selectDataSource(deps.db.sql, organizationId, ids));
}

/** Like `findDataSource`, with row locks on the knowledge base and the data source. */
export async function findAndLockDataSource(
  sql: Sql,
  organizationId: string,
  { kb_id, ds_id }: DataSourcePath,
): Promise<DataSourceRow> {
  const base = await findAndLockKnowledgeBase(sql, organizationId, kb_id);
  const ids = { baseId: base.id, id: ds_id };
  return findRow('dataSource', ds_id, 'ds_id', () => lockDataSource(sql, organizationId, ids));
}
