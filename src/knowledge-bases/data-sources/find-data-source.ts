import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { isId } from '../../lib/ids.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { lockKnowledgeBase } from '../store.ts';
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
  const row = isId('dataSource', ds_id)
    ? await selectDataSource(deps.db.sql, organizationId, { baseId: base.id, id: ds_id })
    : null;
  if (row === null) throw notFound('data_source', ds_id, 'ds_id');
  return row;
}

/** Like `findDataSource`, with row locks on the knowledge base and the data source. */
export async function findAndLockDataSource(
  sql: Sql,
  organizationId: string,
  { kb_id, ds_id }: DataSourcePath,
): Promise<DataSourceRow> {
  const base = isId('knowledgeBase', kb_id) ? await lockKnowledgeBase(sql, organizationId, kb_id) : null;
  if (base === null) throw notFound('knowledge_base', kb_id, 'kb_id');
  const row = isId('dataSource', ds_id)
    ? await lockDataSource(sql, organizationId, { baseId: base.id, id: ds_id })
    : null;
  if (row === null) throw notFound('data_source', ds_id, 'ds_id');
  return row;
}
