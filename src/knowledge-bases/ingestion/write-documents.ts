import type { SourceItem } from '../../connectors/connector.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { updateFailed, updateProcessed } from '../../files/store.ts';
import { StoreUnavailableError } from '../../lib/store-unavailable.ts';
import type { IndexedChunk } from '../../search/chunk-rows.ts';
import type { FieldValues } from '../../search/field-values.ts';
import type { Language } from '../../search/languages.ts';
import { type ChunkPosition, chunkFields } from '../documents/metadata.ts';
import { type ChunkRow, type DocumentRow, deleteTombstones, insertFutureTombstones } from '../documents/store.ts';
import { markForRebuild } from '../index-integrity/store.ts';
import type { JobError } from '../jobs/job-error.ts';
import { incrementJobCounts } from '../jobs/store.ts';
import { MAX_WRITE_DURATION_MS } from '../max-write-duration.ts';
import { isDroppedIndex } from '../store.ts';
import { isFilterable } from './document-metadata.ts';
import type { FilterKeys } from './filter-keys.ts';
import type { DocumentChange } from './prepare-document.ts';
import { prepareVectors, selectChunksOfDocuments } from './re-embedding-store.ts';
import { lockRun, RunSupersededError, requireLatestRun, SourceDeletedError } from './run-context.ts';
import {
  incrementCounts,
  type JobContext,
  type NewChunkRow,
  replaceDocuments,
  selectExistingIds,
  setItemFingerprint,
  upsertJobDocuments,
} from './store.ts';

/** Maximum chunks and documents of one write. Each write creates a fragment that the index must compact later. */
const CHUNKS_PER_WRITE = 512;
export const DOCUMENTS_PER_WRITE = 128;

/** The job that writes documents. */
export interface WriteContext extends JobContext {
  /** Fingerprint of the embedding model of the new vectors. */
  fingerprint: string;
  filterKeys: FilterKeys;
}

/** An item that was processed to its end. */
export interface FinishedItem {
  item: Pick<SourceItem, 'key' | 'fingerprint'>;
  /** Whether all of its documents are in this write. */
  isComplete: boolean;
  /** The error of an item without any text; null otherwise. */
  error: JobError | null;
  /** Difference between its documents and those counted when it was listed. */
  extraDocuments: number;
}

/** Share of a full write that the changes take, by chunks or documents; unchanged documents are indexed again. */
export function writeShare(changes: readonly DocumentChange[]): number {
  const chunks = changes.reduce((sum, { outcome }) => {
    if ('error' in outcome) return sum;
    return sum + ('unchanged' in outcome ? outcome.unchanged.chunkCount : outcome.prepared.chunks.length);
  }, 0);
  return Math.max(chunks / CHUNKS_PER_WRITE, changes.length / DOCUMENTS_PER_WRITE);
}

/** The first documents that fit into one write, at least one. */
export function takeWrite<T extends { chunkCount: number }>(documents: readonly T[]): T[] {
  let chunks = 0;
  return documents.filter(({ chunkCount }, i) => {
    chunks += chunkCount;
    return i === 0 || (i < DOCUMENTS_PER_WRITE && chunks <= CHUNKS_PER_WRITE);
  });
}

/**
 * Writes documents of a job and finishes items: first the index, then rows and counts in one transaction. After a crash
 * in between, the index contains chunks without rows, which searches never return; the next run replaces those of known
 * documents, tombstones remove those of new ones. Throws `SourceDeletedError` when the source was deleted meanwhile,
 * and `RunSupersededError` when another run of the job has begun; then nothing is kept.
 */
export async function writeDocuments(
  deps: Pick<Deps, 'db' | 'chunks' | 'now'>,
  context: WriteContext,
  changes: readonly DocumentChange[],
  finished: readonly FinishedItem[] = [],
): Promise<void> {
  if (changes.length === 0 && finished.length === 0) return;
  const { base, fingerprint } = context;
  await requireLatestRun(deps.db.sql, context.job);
  const ids = changes.map(({ row }) => row.id);
  const unfilterableKeys = await findUnfilterableKeys(context.filterKeys, changes);
  const column = await prepareVectors(deps.db.sql, base.id, fingerprint);
  const kept = await loadUnchangedChunks(deps, { baseId: base.id, column }, changes);
  const chunks = changes.flatMap((change) => toIndexedChunks(change, kept, unfilterableKeys(change)));
  const added = changes.filter(({ before }) => before === null).map(({ row }) => row.id);
  await insertFutureTombstones(deps.db.sql, base.id, added, new Date(deps.now() + MAX_WRITE_DURATION_MS));
  // Searches find the old version of a document until its rows are replaced, then the new one.
  const write = { chunks, isNew: added.length === ids.length, keepsReplaced: true, column };
  const replaced = await deps.chunks.replace(base.id, ids, write);
  const commit = deps.db.sql.transaction(async (sql) => {
    if (!(await lockRun(sql, context))) return null;
    const updatedIds = changes.filter(({ before }) => before !== null).map(({ row }) => row.id);
    // A concurrent deletion wins: ids are never reused.
    const deleted = new Set(updatedIds).difference(await selectExistingIds(sql, updatedIds));
    const remaining = changes.filter(({ row }) => !deleted.has(row.id));
    await writeRows(sql, context, remaining, (change) =>
      completeRow(change, { fingerprint, kept, unfilterableOf: unfilterableKeys }),
    );
    await deleteTombstones(sql, added);
    await finishItems(sql, context, finished);
    return [...deleted];
  });
  const deletedIds = await commit.catch(async (error: unknown) => {
    if (error instanceof RunSupersededError) await undoIndexWrite(deps, base.id, changes);
    throw error;
  });
  if (deletedIds !== null) return removeDeleted(deps, base.id, { documentIds: deletedIds, chunkIds: replaced });
  // This write may have recreated the table of a deleted knowledge base.
  if (await isDroppedIndex(deps.db.sql, base.id)) await deps.chunks.drop(base.id);
  else await deps.chunks.remove(base.id, ids);
  throw new SourceDeletedError();
}

/**
 * Removes documents from the index that were deleted during a committed write, and the chunks that it replaced. After
 * an outage, the purge does it for documents, and the next write of a document for its chunks.
 */
async function removeDeleted(
  { db, chunks, now }: Pick<Deps, 'db' | 'chunks' | 'now'>,
  baseId: string,
  { documentIds, chunkIds }: { documentIds: readonly string[]; chunkIds: readonly string[] },
): Promise<void> {
  try {
    if (documentIds.length > 0) await chunks.remove(baseId, documentIds);
    await chunks.removeChunks(baseId, chunkIds);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    await insertFutureTombstones(db.sql, baseId, documentIds, new Date(now()));
  }
}

/**
 * Undoes the index write of a superseded run. The other run may have written unchanged documents before, with other
 * fields: they are embedded again.
 */
async function undoIndexWrite(
  { db, chunks }: Pick<Deps, 'db' | 'chunks'>,
  baseId: string,
  changes: readonly DocumentChange[],
): Promise<void> {
  const written = changes.flatMap(({ outcome }) => ('prepared' in outcome ? outcome.prepared.chunks : []));
  await chunks.removeChunks(
    baseId,
    written.map(({ id }) => id),
  );
  const unchanged = unchangedIds(changes);
  if (unchanged.length > 0) await markForRebuild(db.sql, baseId, unchanged);
}

/** Converts a chunk for the index. Fields of the chunk override metadata of its document. */
export function toIndexedChunk(
  document: Pick<DocumentRow, 'id' | 'name' | 'sourceType' | 'metadata' | 'unfilterableKeys' | 'language'>,
  chunk: ChunkPosition & { id: string; text: string },
  vector: Float32Array | null,
): IndexedChunk {
  const unfilterable = new Set(document.unfilterableKeys);
  const filterable = Object.entries(document.metadata).filter(([key]) => !unfilterable.has(key));
  return {
    id: chunk.id,
    documentId: document.id,
    documentName: document.name,
    sourceType: document.sourceType,
    text: chunk.text,
    language: document.language as Language,
    vector,
    fields: { ...Object.fromEntries(filterable), ...chunkFields(chunk) } as FieldValues,
  };
}

/** Returns a function that gives a document's keys that cannot be filtered by: too long, too many, or not stored. */
async function findUnfilterableKeys(
  filterKeys: FilterKeys,
  changes: readonly DocumentChange[],
): Promise<(change: DocumentChange) => string[]> {
  const shortKeys = ({ row }: DocumentChange) =>
    new Set(Object.keys(row.metadata).filter((key) => isFilterable(key, row.metadata[key])));
  const admitted = await filterKeys.admit(new Set(changes.flatMap((change) => [...shortKeys(change)])));
  return (change) => {
    const filterable = shortKeys(change).intersection(admitted);
    const others = Object.keys(change.row.metadata).filter((key) => !filterable.has(key));
    return [...others, ...(change.leftOutKeys ?? [])];
  };
}

/** Chunks of unchanged documents with vectors from the index, by document. Chunks that the index lost are missing. */
type UnchangedChunks = ReadonlyMap<string, readonly (ChunkRow & { vector: Float32Array | null })[]>;

async function loadUnchangedChunks(
  deps: Pick<Deps, 'db' | 'chunks'>,
  { baseId, column }: { baseId: string; column: string },
  changes: readonly DocumentChange[],
): Promise<UnchangedChunks> {
  const ids = unchangedIds(changes);
  if (ids.length === 0) return new Map();
  const vectors = await deps.chunks.vectors(baseId, ids, column);
  const rows = await selectChunksOfDocuments(deps.db.sql, ids);
  const chunks = rows.flatMap((chunk) => {
    const vector = vectors.get(chunk.id);
    return vector === undefined ? [] : [{ ...chunk, vector }];
  });
  return Map.groupBy(chunks, ({ documentId }) => documentId);
}

function unchangedIds(changes: readonly DocumentChange[]): string[] {
  return changes.flatMap(({ outcome }) => ('unchanged' in outcome ? [outcome.unchanged.id] : []));
}

async function writeRows(
  sql: Sql,
  { job, base, source }: WriteContext,
  changes: readonly DocumentChange[],
  toRow: (change: DocumentChange) => DocumentRow,
): Promise<void> {
  const before = changes.flatMap((change) => change.before ?? []);
  const written = changes.map(toRow);
  const unchanged = new Set(unchangedIds(changes));
  await replaceDocuments(sql, written, {
    before: before.map(({ id }) => id).filter((id) => !unchanged.has(id)),
    chunks: changes.flatMap((change) => toChunkRows(change, base.id)),
  });
  const createdChunks = ({ id, chunkCount }: DocumentRow) => (unchanged.has(id) ? 0 : chunkCount);
  const totals = (rows: readonly DocumentRow[]) => ({
    completed: rows.filter(({ status }) => status === 'completed').length,
    chunks: rows.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
  });
  const [current, previous] = [totals(written), totals(before)];
  await incrementCounts(
    sql,
    { baseId: base.id, sourceId: source.id },
    { documents: current.completed - previous.completed, chunks: current.chunks - previous.chunks },
  );
  await upsertJobDocuments(
    sql,
    written.map((row) => ({
      jobId: job.id,
      documentId: row.id,
      documentName: row.name,
      status: row.error === null ? 'completed' : 'failed',
      chunksCreated: createdChunks(row),
      error: row.error,
      warnings: row.warnings,
    })),
  );
  await incrementJobCounts(sql, job.id, {
    documentsProcessed: current.completed,
    documentsFailed: written.length - current.completed,
    chunksCreated: written.reduce((sum, row) => sum + createdChunks(row), 0),
    documentsNew: changes.filter(isNew).length,
    // A failed document counts as failed, at every sync that tries it again.
    documentsModified: changes.filter((change) => !isNew(change) && !('error' in change.outcome)).length,
  });
}

/** Whether no version of the document has been ingested. */
function isNew({ before }: DocumentChange): boolean {
  return before === null || before.status === 'processing';
}

function completeRow(
  change: DocumentChange,
  context: { fingerprint: string; kept: UnchangedChunks; unfilterableOf: (change: DocumentChange) => string[] },
): DocumentRow {
  const { row, outcome } = change;
  const unfilterableKeys = context.unfilterableOf(change);
  if ('unchanged' in outcome) {
    // Without a fingerprint, the job embeds chunks again that the index lost.
    const isComplete = context.kept.get(row.id)?.length === outcome.unchanged.chunkCount;
    const embeddingFingerprint = isComplete ? outcome.unchanged.embeddingFingerprint : null;
    return { ...outcome.unchanged, ...row, embeddingFingerprint, unfilterableKeys };
  }
  const prepared = 'prepared' in outcome ? outcome.prepared : null;
  const error = 'error' in outcome ? outcome.error : null;
  const chunkCount = prepared?.chunks.length ?? 0;
  const isEmbedded = chunkCount > 0 && prepared?.chunks.every(({ vector }) => vector !== null);
  return {
    ...row,
    chunkCount,
    status: error === null ? 'completed' : 'failed',
    error,
    contentHash: prepared?.contentHash ?? null,
    extractionHash: prepared?.extractionHash ?? null,
    language: prepared?.language ?? 'none',
    embeddingFingerprint: isEmbedded ? context.fingerprint : null,
    unfilterableKeys,
  };
}

function toChunkRows({ row, outcome }: DocumentChange, knowledgeBaseId: string): NewChunkRow[] {
  if (!('prepared' in outcome)) return [];
  return outcome.prepared.chunks.map(({ vector, ...chunk }, position) => ({
    ...chunk,
    documentId: row.id,
    knowledgeBaseId,
    position,
  }));
}

/** Completes fingerprints and counts of items, and the status of uploaded files. */
async function finishItems(sql: Sql, { job, source }: WriteContext, finished: readonly FinishedItem[]): Promise<void> {
  for (const { item, isComplete } of finished) {
    if (isComplete) continue;
    await setItemFingerprint(sql, { sourceId: source.id, itemKey: item.key, jobId: job.id }, item.fingerprint);
  }
  const extraDocuments = finished.reduce((sum, item) => sum + item.extraDocuments, 0);
  if (extraDocuments !== 0) await incrementJobCounts(sql, job.id, { documentsScanned: extraDocuments });
  if (source.type !== 'file_upload') return;
  const succeeded = finished.filter(({ error }) => error === null).map(({ item }) => item.key);
  await updateProcessed(sql, job.organizationId, succeeded);
  for (const { item, error } of finished) {
    if (error !== null) await updateFailed(sql, job.organizationId, item.key, error.message);
  }
}

function toIndexedChunks({ row, outcome }: DocumentChange, kept: UnchangedChunks, unfilterableKeys: string[]) {
  if ('error' in outcome) return [];
  const { language } = 'unchanged' in outcome ? outcome.unchanged : outcome.prepared;
  const chunks = 'unchanged' in outcome ? (kept.get(row.id) ?? []) : outcome.prepared.chunks;
  return chunks.map((chunk) => toIndexedChunk({ ...row, language, unfilterableKeys }, chunk, chunk.vector));
}
