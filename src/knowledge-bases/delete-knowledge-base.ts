import { recordChange, toActor } from '../audit/record-change.ts';
import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { deleteFileUses } from '../files/store.ts';
import type { Call } from '../lib/caller.ts';
import { dropIndexTable } from './drop-index-tables.ts';
import { findAndLockKnowledgeBase } from './find-knowledge-base.ts';
import { selectUnfinishedJobsOfBase } from './jobs/store.ts';
import type { DeletedKnowledgeBase } from './schema.ts';
import { deleteKnowledgeBaseRow, insertDroppedIndex } from './store.ts';

/**
 * Deletes a knowledge base with its sources, documents and chunks, even while jobs run. Searches no longer return its
 * chunks once this resolves; the files of the index are removed afterwards. Throws 404 `knowledge_base_not_found`.
 */
export async function deleteKnowledgeBase(
  deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>,
  call: Call,
  id: string,
): Promise<DeletedKnowledgeBase> {
  const { organizationId } = call.caller;
  await deps.db.sql.transaction(async (sql) => {
    await findAndLockKnowledgeBase(sql, organizationId, id);
    await removeKnowledgeBase(sql, id, deps.now());
    await recordChange(sql, toActor(call), { action: 'knowledge_base.deleted', organizationId, resourceId: id });
  });
  await dropIndexTable(deps, id);
  return { id, object: 'knowledge_base', deleted: true };
}

/** Deletes a locked knowledge base in a transaction. Callers run `dropIndexTable` after the commit, or a sweep does. */
export async function removeKnowledgeBase(sql: Sql, id: string, nowMs: number): Promise<void> {
  for (const job of await selectUnfinishedJobsOfBase(sql, id)) await deleteFileUses(sql, job.id);
  await deleteKnowledgeBaseRow(sql, id);
  await insertDroppedIndex(sql, id, new Date(nowMs));
}
