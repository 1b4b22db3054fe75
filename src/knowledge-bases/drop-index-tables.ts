import type { Deps } from '../deps.ts';
import { describeError } from '../lib/operator-error.ts';
import { MAX_WRITE_DURATION_MS } from './max-write-duration.ts';
import { deleteDroppedIndex, selectDroppedIndexes } from './store.ts';

/** Maximum number of indexes per sweep; the next sweep removes the others. */
const SWEEP_LIMIT = 100;

type DropDeps = Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>;

/**
 * Removes the indexes of deleted knowledge bases, including deletions that a crash interrupted. A write that began
 * before a deletion creates the index again, so each one is removed until such writes have ended. May be called twice.
 */
export async function dropIndexTables(deps: DropDeps): Promise<void> {
  for (const { knowledgeBaseId: id, createdAt } of await selectDroppedIndexes(deps.db.sql, SWEEP_LIMIT)) {
    const isDropped = await dropIndexTable(deps, id);
    if (isDropped && createdAt.getTime() + MAX_WRITE_DURATION_MS <= deps.now())
      await deleteDroppedIndex(deps.db.sql, id);
  }
}

/** Removes the index of a deleted knowledge base. Returns false on failure; the sweep retries. */
export async function dropIndexTable(deps: DropDeps, id: string): Promise<boolean> {
  try {
    await deps.chunks.drop(id);
    return true;
  } catch (error) {
    const fields = { knowledgeBase: id, reason: describeError(error) };
    deps.logger.warn(fields, 'an index could not be removed; tried again in an hour');
    return false;
  }
}
