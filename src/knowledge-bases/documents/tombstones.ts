import type { Deps } from '../../deps.ts';
import { describeError } from '../../lib/operator-error.ts';
import { deleteDroppedDocuments, selectBasesOfDropped, selectDroppedDocuments } from './store.ts';

/** Documents that the index forgets in one go. */
const DROPPED_AT_ONCE = 500;
/** Knowledge bases that one sweep looks after. The next takes what is left. */
const SWEEP_LIMIT = 100;

type DropDeps = Pick<Deps, 'db' | 'chunks' | 'logger'>;

/**
 * Has the index forget the documents of a knowledge base that were deleted. Where it fails the rest waits for the next sweep: what
 * the index still holds of them no search returns. May be called twice, and at once.
 */
export async function tombstoneDocuments(deps: DropDeps, baseId: string): Promise<void> {
  try {
    for (;;) {
      const ids = await selectDroppedDocuments(deps.db.sql, baseId, DROPPED_AT_ONCE);
      if (ids.length === 0) return;
      await deps.chunks.remove(baseId, ids);
      // What is deleted gets no new row: another document that comes from the same item has another id.
      await deleteDroppedDocuments(deps.db.sql, ids);
    }
  } catch (error) {
    deps.logger.warn(
      { knowledgeBase: baseId, reason: describeError(error) },
      'documents could not be removed from the index; tried again in an hour',
    );
  }
}

/** The same for every knowledge base: also for deletions that a crash has cut off. */
export async function purgeTombstones(deps: DropDeps): Promise<void> {
  for (const baseId of await selectBasesOfDropped(deps.db.sql, SWEEP_LIMIT)) await tombstoneDocuments(deps, baseId);
}
