import type { Deps } from '../../deps.ts';
import { describeError } from '../../lib/operator-error.ts';
import { deleteTombstones, selectBasesWithTombstones, selectTombstones } from './store.ts';

/** Documents removed from the index per statement. */
const DOCUMENTS_PER_REMOVAL = 500;
/** Knowledge bases per sweep; the next sweep continues. */
const BASES_PER_SWEEP = 100;

type TombstoneDeps = Pick<Deps, 'db' | 'chunks' | 'logger'>;

/**
 * Removes the deleted documents of a knowledge base from the search index. A failure is logged and left to the next
 * sweep: searches never return them, because they have no row. May be called concurrently.
 */
export async function applyTombstones(deps: TombstoneDeps, baseId: string): Promise<void> {
  try {
    for (;;) {
      const ids = await selectTombstones(deps.db.sql, baseId, DOCUMENTS_PER_REMOVAL);
      if (ids.length === 0) return;
      await deps.chunks.remove(baseId, ids);
      // Safe: the id of a deleted document is never used again.
      await deleteTombstones(deps.db.sql, ids);
    }
  } catch (error) {
    deps.logger.warn(
      { knowledgeBase: baseId, reason: describeError(error) },
      'removing documents from the index failed; retrying in an hour',
    );
  }
}

/** Applies the tombstones of all knowledge bases, such as those of deletions interrupted by a crash. */
export async function purgeTombstones(deps: TombstoneDeps): Promise<void> {
  for (const baseId of await selectBasesWithTombstones(deps.db.sql, BASES_PER_SWEEP))
    await applyTombstones(deps, baseId);
}
