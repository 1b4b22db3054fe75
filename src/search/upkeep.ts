/** What is known of a table when its upkeep is due. */
export interface TableState {
  rows: number;
  /** Rows that were deleted since the keyword index was last built whole. */
  deletedSinceBuild: number;
  /** Rows that the keyword index does not hold yet; they are searched one by one. Null without an index. */
  unindexedTerms: number | null;
  /** The same of the vector index. */
  unindexedVectors: number | null;
  /** Whether ids, documents and labels have an index. */
  hasLookups: boolean;
  /** Pieces that the table is stored in: one for every write that was not compacted. */
  fragments: number;
}

/** One step of upkeep. `optimize` compacts, and brings the indexes up to date. */
export type UpkeepStep = 'buildTerms' | 'buildVectors' | 'buildLookups' | 'optimize';

/**
 * Below this many chunks every vector is compared, and every row asked whether it fits a filter: exact, and as fast as with an index.
 */
export const FLAT_ROWS = 5_000;
/** A table with a larger share of deleted rows counts words of chunks that are gone: its scores have moved by a percent. */
const MAX_DELETED_SHARE = 0.1;
/**
 * While more is being written, so many rows may be outside of an index, or this share of all: each makes a search a little slower and its
 * scores less exact. Bringing the indexes up to date costs more the larger they are, so a constant number would make filling quadratic.
 */
const MAX_UNINDEXED_ROWS = 2_000;
const MAX_UNINDEXED_SHARE = 0.1;
/** More pieces make each search open more files; while more is written, more of them are borne than later. */
const MAX_FRAGMENTS = 24;
const MAX_FRAGMENTS_BUSY = 96;

/**
 * What a table needs now, in the order to do it. Deleted rows stay in the counts that keyword scores are made of until the
 * index is built again, which a constant share of them triggers, so the cost of it stays a constant share of the writing. Rows that the
 * keyword index does not hold are scored by what is known of them alone: once nothing more is written (`isBusy` false), none may be left.
 */
export function upkeepOf(state: TableState, isBusy: boolean): UpkeepStep[] {
  const { rows, deletedSinceBuild, unindexedTerms, unindexedVectors, hasLookups, fragments } = state;
  if (rows === 0) return [];
  const steps: UpkeepStep[] = [];
  if (unindexedTerms === null || deletedSinceBuild > rows * MAX_DELETED_SHARE) steps.push('buildTerms');
  if (rows >= FLAT_ROWS && unindexedVectors === null) steps.push('buildVectors');
  if (rows >= FLAT_ROWS && !hasLookups) steps.push('buildLookups');
  const mayBeLeft = Math.max(MAX_UNINDEXED_ROWS, rows * MAX_UNINDEXED_SHARE);
  const isBehind = Math.max(unindexedTerms ?? 0, unindexedVectors ?? 0) > mayBeLeft;
  const isLeft = !isBusy && (unindexedTerms ?? 0) > 0;
  const isScattered = fragments > (isBusy ? MAX_FRAGMENTS_BUSY : MAX_FRAGMENTS);
  if (isBehind || isLeft || isScattered) steps.push('optimize');
  return steps;
}
