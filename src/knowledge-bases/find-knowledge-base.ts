import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import { type KnowledgeBaseRow, selectKnowledgeBase } from './store.ts';

/**
 * Returns a knowledge base of the organization. Throws 404 `knowledge_base_not_found` naming `param` for an unknown id
 * and for another organization's.
 */
export async function findKnowledgeBase(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  id: string,
  param = 'kb_id',
): Promise<KnowledgeBaseRow> {
  const row = isId('knowledgeBase', id) ? await selectKnowledgeBase(deps.db, organizationId, id) : null;
  if (row === null) throw notFound('knowledge_base', id, param);
  return row;
}
