import { type CheckDeps, checkIndex } from './check-index.ts';
import { hasUnembedded, type IndexedBase, markForRebuild, markReady, selectUnreadyBases } from './store.ts';

/** Maximum number of indexes per run; the next run takes the others. */
const LIMIT = 100;

/**
 * Advances the repair of every index that is not ready: drops a damaged one and queues jobs that embed its documents
 * again (see `queueReEmbedding`). When no document waits, the index is checked again before searches use it, because a
 * job that ran concurrently may have lost its writes. Returns whether documents still wait to be embedded.
 */
export async function repairIndexes(deps: CheckDeps): Promise<boolean> {
  let isWaiting = false;
  for (const base of await selectUnreadyBases(deps.db.sql, LIMIT)) {
    if (base.indexState === 'damaged') await dropIndex(deps, base);
    if (await hasUnembedded(deps.db.sql, base.id)) isWaiting = true;
    else await finish(deps, base);
  }
  return isWaiting;
}

async function dropIndex({ db, chunks }: CheckDeps, { id }: IndexedBase): Promise<void> {
  await chunks.drop(id);
  await markForRebuild(db.sql, id, null);
}

async function finish(deps: CheckDeps, base: IndexedBase): Promise<void> {
  const { state } = await checkIndex(deps, base);
  if (state !== 'complete') return;
  await markReady(deps.db.sql, base.id);
  deps.logger.info({ knowledgeBase: base.id, organizationId: base.organizationId }, 'search index rebuilt');
}
