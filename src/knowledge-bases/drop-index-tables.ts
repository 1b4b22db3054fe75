import type { Deps } from '../deps.ts';
import { describeError } from '../lib/operator-error.ts';
import { MAX_WRITE_DURATION_MS } from './max-write-duration.ts';
import { deleteDroppedIndex, selectDroppedIndexes } from './store.ts';

/** Indexes that one sweep removes. The next takes what is left. */
const SWEEP_LIMIT = 100;

type DropDeps = Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>;

/**
 * Removes the indexes of knowledge bases that are gone, also of those whose deletion a crash has cut off. A write that had begun before a
 * deletion makes the index anew, so each is removed until none can be left. May be called twice.
 */
export async function dropIndexTables(deps: DropDeps): Promise<void> {
  for (const { knowledgeBaseId: id, createdAt } of await selectDroppedIndexes(deps.db.sql, SWEEP_LIMIT)) {
    const isDropped = await dropIndexTable(deps, id);
    if (isDropped && createdAt.getTime() + MAX_WRITE_DURATION_MS <= deps.now())
      await deleteDroppedIndex(deps.db.sql, id);
  }
}

/** Removes the index of a knowledge base that is gone; false where it could not be, which the sweep does later. */
export async function dropIndexTable(deps: DropDeps, id: string): Promise<boolean> {
  try {
    await deps.chunks.drop(id);
    return true;
  } catch (error) {
    const told = { knowledgeBase: id, reason: describeError(error) };
    deps.logger.warn(told, 'an index could not be removed; tried again in an hour');
    return false;
  }
}
