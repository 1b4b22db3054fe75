import type { Deps } from '../../deps.ts';
import { type ApiError, engineUnavailable } from '../../errors.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { ChunkHit } from '../../search/chunk-table.ts';
import { type ChunkSearch, VectorsDroppedError } from '../../search/search-table.ts';
import { checkIndex } from '../index-integrity/check-index.ts';
import { selectIndexedBase } from '../index-integrity/store.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { searchDatabase } from './search-database.ts';

/** `Retry-After` while an index is being rebuilt. */
const REBUILD_RETRY_SECONDS = 30;
/** `Retry-After` after a failed search, which starts a check of the index. */
const FAILURE_RETRY_SECONDS = 5;

type SearchDeps = Pick<Deps, 'db' | 'chunks' | 'logger'>;

/** Knowledge bases whose index is being checked. */
const checking = new Set<string>();

/**
 * Whether the index of a knowledge base is searched. While only some of its documents are indexed again, it is; while
 * all are, there is no fingerprint.
 */
export function isSearchable({
  indexState,
  embeddingFingerprint,
}: Pick<KnowledgeBaseRow, 'indexState' | 'embeddingFingerprint'>): boolean {
  return indexState === 'ready' || (indexState === 'rebuilding' && embeddingFingerprint !== null);
}

/**
 * Searches the index of a knowledge base; by keyword in the database, with hits without cosine, while the index is
 * rebuilt and when it cannot be read. It is then checked, and rebuilt if files are missing or damaged. Throws 503 for a
 * search without text in that case, or when the database takes too long; the reason of the signal when that aborts
 * before the search begins; and a `VectorsDroppedError` when the vectors were replaced since `base` was read.
 */
export async function searchIndex(deps: SearchDeps, base: KnowledgeBaseRow, search: ChunkSearch): Promise<ChunkHit[]> {
  const failure = await tryIndex(deps, base, search);
  if (Array.isArray(failure)) return failure;
  const { text } = search;
  if (text === null) throw failure;
  const hits = await searchDatabase(deps, base, { ...search, text });
  if (hits === null) throw failure;
  return hits;
}

/** Searches the index. Returns the error to answer with when the index cannot be searched. */
async function tryIndex(deps: SearchDeps, base: KnowledgeBaseRow, search: ChunkSearch): Promise<ChunkHit[] | ApiError> {
  if (!isSearchable(base)) return indexRebuilding();
  try {
    const hits = await deps.chunks.search(base.id, search);
    if (hits.length > 0 || base.chunkCount === 0 || (await deps.chunks.hasTable(base.id))) return hits;
    throw new Error('its table does not exist');
  } catch (error) {
    search.signal.throwIfAborted();
    if (error instanceof VectorsDroppedError) throw error;
    deps.logger.error({ knowledgeBase: base.id, reason: describeError(error) }, 'search index could not be read');
    void checkOnce(deps, base.id);
    const message = 'The search index of this knowledge base could not be read. Keyword search is available meanwhile.';
    return engineUnavailable(message, FAILURE_RETRY_SECONDS, error);
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

/** 503 of searches that need an index which is being rebuilt. */
export function indexRebuilding(): ApiError {
  const message = 'The search index of this knowledge base is being rebuilt. Keyword search is available meanwhile.';
  return engineUnavailable(message, REBUILD_RETRY_SECONDS);
}
