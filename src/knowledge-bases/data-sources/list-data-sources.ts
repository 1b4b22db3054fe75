import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { selectDataSources } from './store.ts';
import { viewListedDataSources } from './view-data-source.ts';

/** Lists a knowledge base's data sources, oldest first. Throws 404 `knowledge_base_not_found`. */
export async function listDataSources(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  baseId: string,
  query: ListQuery,
) {
  const bounds = pageBounds(query, 'dataSource');
  const base = await findKnowledgeBase(deps, organizationId, baseId);
  const rows = await selectDataSources(deps.db.sql, base.id, bounds);
  return page(await viewListedDataSources(deps.db.sql, rows), bounds.limit);
}
