/** State of a table that determines its maintenance. */
export interface TableState {
  rows: number;
  /** Rows deleted since the last full build of the keyword index. */
  deletedSinceBuild: number;
  /** Rows missing in the keyword index, which are searched by a scan. Null without an index. */
  unindexedTerms: number | null;
  /** Rows missing in the vector index. Null without an index. */
  unindexedVectors: number | null;
  /** Whether the columns id, document_id and labels have an index. */
  hasLookups: boolean;
  /** Fragments of the table: one per write since the last compaction. */
  fragments: number;
}

/** A maintenance step. `optimize` compacts the table and updates its indexes. */
export type MaintenanceStep = 'buildTerms' | 'buildVectors' | 'buildLookups' | 'optimize';

/** Below this number of chunks, searches scan all vectors and rows: exact, and as fast as an index. */
export const FLAT_ROWS = 5_000;
/** Share of deleted rows that triggers a rebuild: BM25 counts them, which changes scores by a percent. */
const MAX_DELETED_SHARE = 0.1;
/**
 * Maximum unindexed rows while more writes follow: a number or a share of all rows, whichever is larger. They make
 * searches slower and scores less exact, but a constant number alone would make bulk writes quadratic.
 */
const MAX_UNINDEXED_ROWS = 2_000;
const MAX_UNINDEXED_SHARE = 0.1;
/** Maximum fragments. A search opens every fragment. More are tolerated while more writes follow. */
const MAX_FRAGMENTS = 24;
const MAX_FRAGMENTS_BUSY = 96;

/**
 * Returns the maintenance steps that a table needs, in order. BM25 statistics include deleted rows until the index is
 * rebuilt, which a constant share of them triggers, so that its cost is a constant share of all writes. Unindexed rows
 * have statistics of their own, so none may remain when no more writes follow (`isBusy` false).
 */
export function planMaintenance(state: TableState, isBusy: boolean): MaintenanceStep[] {
  const { rows, deletedSinceBuild, unindexedTerms, unindexedVectors, hasLookups, fragments } = state;
  if (rows === 0) return [];
  const steps: MaintenanceStep[] = [];
  if (unindexedTerms === null || deletedSinceBuild > rows * MAX_DELETED_SHARE) steps.push('buildTerms');
  if (rows >= FLAT_ROWS && unindexedVectors === null) steps.push('buildVectors');
  if (rows >= FLAT_ROWS && !hasLookups) steps.push('buildLookups');
  const maxUnindexed = Math.max(MAX_UNINDEXED_ROWS, rows * MAX_UNINDEXED_SHARE);
  const isBehind = Math.max(unindexedTerms ?? 0, unindexedVectors ?? 0) > maxUnindexed;
  const hasUnindexed = !isBusy && (unindexedTerms ?? 0) > 0;
  const isFragmented = fragments > (isBusy ? MAX_FRAGMENTS_BUSY : MAX_FRAGMENTS);
  if (isBehind || hasUnindexed || isFragmented) steps.push('optimize');
  return steps;
}
