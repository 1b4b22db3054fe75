import type { Sql } from '../db/db.ts';
import { findRow } from '../db/find-row.ts';
import type { Deps } from '../deps.ts';
import { type KnowledgeBaseRow, lockKnowledgeBase, selectKnowledgeBase } from './store.ts';

/**
 * Returns a knowledge base of the organization. Throws 404 `knowledge_base_not_found` naming `param` for an unknown id
 * and for another organization's.
 */
export function findKnowledgeBase(
  deps: Pick<Deps, 'db'>,
  organizationId: string,
  id: string,
  param = 'kb_id',
): Promise<KnowledgeBaseRow> {
  return findRow('knowledgeBase', id, param, () => selectKnowledgeBase(deps.db, organizationId, id));
}

/** Like `findKnowledgeBase`, with a row lock until the transaction ends. */
export function findAndLockKnowledgeBase(sql: Sql, organizationId: string, id: string): Promise<KnowledgeBaseRow> {
  return findRow('knowledgeBase', id, 'kb_id', () => lockKnowledgeBase(sql, organizationId, id));
}
