import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { selectKnowledgeBases } from './store.ts';
import { viewListed } from './view-knowledge-base.ts';

/** Lists the organization's knowledge bases, oldest first. */
export async function listKnowledgeBases(deps: Pick<Deps, 'db'>, organizationId: string, query: ListQuery) {
  const bounds = pageBounds(query, 'knowledgeBase');
  const rows = await selectKnowledgeBases(deps.db.sql, organizationId, bounds);
  return page(rows.map(viewListed), bounds.limit);
}
