import type { Deps } from '../../deps.ts';
import { describeError } from '../../lib/operator-error.ts';
import { retryThroughOutage, StoreUnavailableError } from '../../lib/store-unavailable.ts';
import {
  type IndexedBase,
  markDamaged,
  markForRebuild,
  markOutdated,
  selectChunkCounts,
  selectIndexedBases,
} from './store.ts';

/** Dependencies of a check. */
export type CheckDeps = Pick<Deps, 'db' | 'chunks' | 'logger'>;

/** Result of comparing an index with the database. */
export type IndexCondition =
  | { state: 'complete' }
  /** Files are missing or damaged. */
  | { state: 'unreadable'; reason: string }
  /** Documents with fewer chunks in the index than in the database. */
  | { state: 'incomplete'; documentIds: string[]; isMostlyMissing: boolean };

/** Knowledge bases per query. */
const PAGE = 100;
/** Share of incomplete documents above which the index is dropped: searches of the others would say little. */
const MAX_MISSING_SHARE = 0.5;

/**
 * Compares the index of a knowledge base with the database, reading all of its files. Chunks that only the index
 * contains are ignored: searches never return them.
 */
export async function inspectIndex(
  { db, chunks }: Pick<CheckDeps, 'db' | 'chunks'>,
  baseId: string,
): Promise<IndexCondition> {
  // The database is read first: writers write to the index before the database, so a concurrent write cannot look like
  // a missing chunk.
  const expected = await selectChunkCounts(db.sql, baseId);
  let counts: ReadonlyMap<string, number>;
  try {
    counts = await chunks.scan(baseId);
  } catch (error) {
    // Says nothing about the files.
    if (error instanceof StoreUnavailableError) throw error;
    return { state: 'unreadable', reason: describeError(error) };
  }
  const incomplete = [...expected].filter(([id, count]) => (counts.get(id) ?? 0) < count).map(([id]) => id);
  if (incomplete.length === 0) return { state: 'complete' };
  // Excludes documents that were changed or deleted during the check.
  const now = await selectChunkCounts(db.sql, baseId);
  const documentIds = incomplete.filter((id) => now.get(id) === expected.get(id));
  if (documentIds.length === 0) return { state: 'complete' };
  return { state: 'incomplete', documentIds, isMostlyMissing: documentIds.length > now.size * MAX_MISSING_SHARE };
}

/** Checks one index and marks it for repair when it is incomplete. `repairIndexes` repairs it. */
export async function checkIndex(deps: CheckDeps, base: IndexedBase): Promise<IndexCondition> {
  const condition = await inspectIndex(deps, base.id);
  if (condition.state === 'complete') return condition;
  const { id: knowledgeBase, organizationId } = base;
  const counts =
    condition.state === 'unreadable' ? { reason: condition.reason } : { documents: condition.documentIds.length };
  deps.logger.error(
    { knowledgeBase, organizationId, ...counts },
    `search index ${condition.state}: it will be rebuilt`,
  );
  if (condition.state === 'unreadable' || condition.isMostlyMissing) await markDamaged(deps.db.sql, base.id);
  else await markForRebuild(deps.db.sql, base.id, condition.documentIds);
  return condition;
}

/** Checks the index of every knowledge base that is not being rebuilt. Reads one column of every chunk. */
export async function checkIndexes(deps: CheckDeps, signal: AbortSignal): Promise<void> {
  await markOutdated(deps.db.sql);
  for (let after = ''; !signal.aborted; ) {
    const bases = await selectIndexedBases(deps.db.sql, after, PAGE);
    const last = bases.at(-1);
    if (last === undefined) return;
    after = last.id;
    for (const base of bases) {
      if (base.indexState === 'ready' && !signal.aborted) await checkThroughOutage(deps, base, signal);
    }
  }
}

/** The next check of all indexes is a day away, so an outage of the store is waited for. */
async function checkThroughOutage(deps: CheckDeps, base: IndexedBase, signal: AbortSignal): Promise<void> {
  await retryThroughOutage(() => checkIndex(deps, base), {
    signal,
    maxMs: Number.POSITIVE_INFINITY,
    isOutage: (error) => error instanceof StoreUnavailableError,
    onOutage: (error, attempt) => {
      if (attempt === 0) deps.logger.warn({ error: describeError(error) }, 'store unavailable, index check suspended');
    },
  });
}
