import type { Deps } from '../deps.ts';
import { reasonOf } from '../lib/start-error.ts';
import { deleteDroppedIndex, selectDroppedIndexes } from './store.ts';

/** Indexes that one sweep removes. The next takes what is left. */
const SWEEP_LIMIT = 100;

/** Removes the indexes of knowledge bases that are gone, also of those whose deletion a crash has cut off. May be called twice. */
export async function dropIndexes(deps: Pick<Deps, 'db' | 'chunks' | 'logger'>): Promise<void> {
  for (const id of await selectDroppedIndexes(deps.db.sql, SWEEP_LIMIT)) {
    try {
      await deps.chunks.drop(id);
      await deleteDroppedIndex(deps.db.sql, id);
    } catch (error) {
      deps.logger.warn(
        { knowledgeBase: id, reason: reasonOf(error) },
        'an index could not be removed; tried again in an hour',
      );
    }
  }
}
