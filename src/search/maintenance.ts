/** State of a table that determines its maintenance. */
export interface TableState {
  rows: number;
  /** Rows deleted since the last full build of the keyword index. */
  deletedSinceBuild: number;
  /** Rows missing in the keyword index, which are searched by a scan. Null without an index. */
  unindexedTerms: number | null;
  /** Rows missing in the vector index. Null without an index. */
  unindexedVectors: number | null;
  /** Parts of the vector index: each update adds one, which every search opens. */
  vectorDeltas: number;
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
/** The same while no more writes follow, in tables whose unindexed rows are scored with the statistics of the index. */
const MAX_PENDING_SHARE = 0.01;
/**
 * Maximum parts of the vector index. LanceDB merges them only when it splits a partition, and compacts no fragments of
 * different parts: with 160, a vector search of 20,000 chunks took 70 ms instead of 8.
 */
const MAX_VECTOR_DELTAS = 24;
/** Maximum fragments. A search opens every fragment. More are tolerated while more writes follow. */
const MAX_FRAGMENTS = 24;
const MAX_FRAGMENTS_BUSY = 96;

/**
 * Returns the maintenance steps that a table needs, in order. BM25 statistics include deleted rows until the index is
 * rebuilt, which a constant share of them triggers, so that its cost is a constant share of all writes. In a small
 * table, unindexed rows have statistics of their own, so none may remain when no more writes follow (`isBusy` false).
 */
export function planMaintenance(state: TableState, isBusy: boolean): MaintenanceStep[] {
  const { rows, deletedSinceBuild, unindexedTerms, unindexedVectors, vectorDeltas, hasLookups, fragments } = state;
  if (rows === 0) return [];
  const steps: MaintenanceStep[] = [];
  if (unindexedTerms === null || deletedSinceBuild > rows * MAX_DELETED_SHARE) steps.push('buildTerms');
  if (rows >= FLAT_ROWS && (unindexedVectors === null || vectorDeltas > MAX_VECTOR_DELTAS)) steps.push('buildVectors');
  if (rows >= FLAT_ROWS && !hasLookups) steps.push('buildLookups');
  const isBehind = Math.max(unindexedTerms ?? 0, unindexedVectors ?? 0) > maxUnindexed(rows, isBusy);
  // LanceDB compacts the fragments of each part of the vector index to one.
  const isFragmented = fragments - vectorDeltas > (isBusy ? MAX_FRAGMENTS_BUSY : MAX_FRAGMENTS);
  if (isBehind || isFragmented) steps.push('optimize');
  return steps;
}

function maxUnindexed(rows: number, isBusy: boolean): number {
  if (isBusy) return Math.max(MAX_UNINDEXED_ROWS, rows * MAX_UNINDEXED_SHARE);
  return rows < FLAT_ROWS ? 0 : Math.min(MAX_UNINDEXED_ROWS, rows * MAX_PENDING_SHARE);
}
