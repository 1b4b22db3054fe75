import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { KnowledgeBaseListQuery } from './schema.ts';
import { selectKnowledgeBases } from './store.ts';
import { viewListed } from './view-knowledge-base.ts';

/** Lists the organization's knowledge bases, in the order of the query (default: oldest first). */
export async function listKnowledgeBases(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  query: KnowledgeBaseListQuery,
) {
  const bounds = pageBounds(query, 'knowledgeBase');
  const rows = await selectKnowledgeBases(deps.db.sql, organizationId, query, bounds);
  return page(rows.map(viewListed), bounds.limit);
}
