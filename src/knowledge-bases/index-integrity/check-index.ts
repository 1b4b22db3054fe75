import type { Deps } from '../../deps.ts';
import { describeError } from '../../lib/operator-error.ts';
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
  /** Documents of which the index has fewer chunks than the database. */
  | { state: 'incomplete'; documentIds: string[] };

/** Knowledge bases read at once. */
const PAGE = 100;

/**
 * Compares the index of a knowledge base with the database, reading all of its files. The index may hold chunks that the database does
 * not know, which no search returns.
 */
export async function inspectIndex(
  { db, chunks }: Pick<CheckDeps, 'db' | 'chunks'>,
  baseId: string,
): Promise<IndexCondition> {
  // First the database: what is written meanwhile is in the index before it is in the database.
  const expected = await selectChunkCounts(db.sql, baseId);
  let found: ReadonlyMap<string, number>;
  try {
    found = await chunks.scan(baseId);
  } catch (error) {
    return { state: 'unreadable', reason: describeError(error) };
  }
  const incomplete = [...expected].filter(([id, count]) => (found.get(id) ?? 0) < count).map(([id]) => id);
  if (incomplete.length === 0) return { state: 'complete' };
  // A document that was changed or deleted meanwhile has other chunks now.
  const now = await selectChunkCounts(db.sql, baseId);
  const documentIds = incomplete.filter((id) => now.get(id) === expected.get(id));
  return documentIds.length === 0 ? { state: 'complete' } : { state: 'incomplete', documentIds };
}

/** Checks one index and marks it for repair when it is not complete. `repairIndexes` does the rest. */
export async function checkIndex(deps: CheckDeps, base: IndexedBase): Promise<IndexCondition> {
  const condition = await inspectIndex(deps, base.id);
  if (condition.state === 'complete') return condition;
  const { id: knowledgeBase, organizationId } = base;
  const found =
    condition.state === 'unreadable' ? { reason: condition.reason } : { documents: condition.documentIds.length };
  deps.logger.error({ knowledgeBase, organizationId, ...found }, `search index ${condition.state}: it will be rebuilt`);
  if (condition.state === 'unreadable') await markDamaged(deps.db.sql, base.id);
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
      if (base.indexState === 'ready' && !signal.aborted) await checkIndex(deps, base);
    }
  }
}
