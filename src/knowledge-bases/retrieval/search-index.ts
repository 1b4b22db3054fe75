import type { Deps } from '../../deps.ts';
import { type ApiError, engineUnavailable } from '../../errors.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { ChunkHit } from '../../search/chunk-table.ts';
import { type ChunkSearch, VectorsDroppedError } from '../../search/search-table.ts';
import { checkIndex } from '../index-integrity/check-index.ts';
import { selectIndexedBase } from '../index-integrity/store.ts';
import type { KnowledgeBaseRow } from '../store.ts';

/** `Retry-After` while an index is being rebuilt. */
const REBUILD_RETRY_SECONDS = 30;
/** `Retry-After` after a failed search, which starts a check of the index. */
const FAILURE_RETRY_SECONDS = 5;

type SearchDeps = Pick<Deps, 'db' | 'chunks' | 'logger'>;

/** Knowledge bases whose index is being checked. */
const checking = new Set<string>();

/** Throws 503 while the index of a knowledge base is incomplete. */
export function requireIndex({ indexState }: Pick<KnowledgeBaseRow, 'indexState'>): void {
  if (indexState !== 'ready') throw indexRebuilding();
}

/**
 * Searches the index of a knowledge base. Throws 503 while it is incomplete, and when it cannot be read; it is then
 * checked, and rebuilt if files are missing or damaged. Throws the reason of the signal when that aborts before the
 * search begins, and a `VectorsDroppedError` when the vectors were replaced since `base` was read.
 */
export async function searchIndex(deps: SearchDeps, base: KnowledgeBaseRow, search: ChunkSearch): Promise<ChunkHit[]> {
  requireIndex(base);
  try {
    return await deps.chunks.search(base.id, search);
  } catch (error) {
    search.signal.throwIfAborted();
    if (error instanceof VectorsDroppedError) throw error;
    deps.logger.error({ knowledgeBase: base.id, reason: describeError(error) }, 'search index could not be read');
    void checkOnce(deps, base.id);
    throw engineUnavailable('The search index of this knowledge base could not be read.', FAILURE_RETRY_SECONDS, error);
  }
}

async function checkOnce(deps: SearchDeps, baseId: string): Promise<void> {
  if (checking.has(baseId)) return;
  checking.add(baseId);
  try {
    const base = await selectIndexedBase(deps.db.sql, baseId);
    if (base !== null && base.indexState === 'ready') await checkIndex(deps, base);
  } catch (error) {
    deps.logger.error({ knowledgeBase: baseId, reason: describeError(error) }, 'search index could not be checked');
  } finally {
    checking.delete(baseId);
  }
}

function indexRebuilding(): ApiError {
  const message = 'The search index of this knowledge base is being rebuilt. Its state is `indexing` meanwhile.';
  return engineUnavailable(message, REBUILD_RETRY_SECONDS);
}
