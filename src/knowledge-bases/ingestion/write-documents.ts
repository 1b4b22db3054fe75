import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { updateFailed, updateProcessed } from '../../files/store.ts';
import type { SourceItem } from '../data-sources/connectors/connector.ts';
import { deleteTombstones, insertFutureTombstones } from '../documents/store.ts';
import type { JobError } from '../jobs/job-error.ts';
import { MAX_WRITE_DURATION_MS } from '../max-write-duration.ts';
import { isDroppedIndex } from '../store.ts';
import { isFilterable } from './document-metadata.ts';
import { type StoredChunk, selectChunksOf, updateFingerprint } from './embedding-store.ts';
import type { FilterKeys } from './filter-keys.ts';
import { indexedChunk } from './indexed-chunk.ts';
import type { PreparedDocument } from './prepare-document.ts';
import {
  addToCounts,
  addToJob,
  completeItem,
  type DocumentRow,
  type JobContext,
  lockSource,
  type NewChunkRow,
  replaceDocuments,
  selectDocumentsLeft,
  upsertJobDocuments,
} from './worker-store.ts';

/** A document on its way into the knowledge base: what it holds now, or why it could not be read. */
export interface DocumentChange {
  row: Omit<
    DocumentRow,
    | 'chunkCount'
    | 'status'
    | 'error'
    | 'contentHash'
    | 'extractionHash'
    | 'language'
    | 'embeddingFingerprint'
    | 'unfilterableKeys'
  >;
  /** Keys of metadata that were not stored. */
  leftOutKeys?: readonly string[];
  /** What was stored of it before; null where nothing was. */
  before: DocumentRow | null;
  /** `kept`: its chunks stay what they were, with their vectors; `before` is given once more. */
  outcome: { prepared: PreparedDocument } | { kept: DocumentRow } | { error: JobError };
}

/** For which job documents are written. */
export interface WriteContext extends JobContext {
  /** Of what has embedded them. */
  fingerprint: string;
  filterKeys: FilterKeys;
}

/** The source is gone, so its job is. */
export class SourceGone extends Error {
  override readonly name = 'SourceGone';
}

/** An item that was read to its end. */
export interface EndedItem {
  item: Pick<SourceItem, 'key' | 'fingerprint'>;
  /** Whether what is written with it is all that it has. */
  isWhole: boolean;
  /** Why nothing of it could be read; null where something could. */
  unread: JobError | null;
  /** Documents that it has beyond those that were counted when it was listed; negative where it has fewer. */
  uncounted: number;
}

/**
 * Writes documents of a job, and says of the items that have ended with them that they have: the index first, then rows and numbers in one
 * transaction. A crash between leaves chunks in the index that no row knows, which no search returns: the next run replaces those of known
 * documents, a sweep removes those of new ones. Throws `SourceGone` where the source was deleted meanwhile: then nothing stays.
 */
export async function writeDocuments(
  deps: Pick<Deps, 'db' | 'chunks' | 'now'>,
  context: WriteContext,
  changes: readonly DocumentChange[],
  ended: readonly EndedItem[] = [],
): Promise<void> {
  if (changes.length === 0 && ended.length === 0) return;
  const { base, source, fingerprint } = context;
  const ids = changes.map(({ row }) => row.id);
  const unfilterableOf = await unfilterableKeys(context.filterKeys, changes);
  const kept = await keptChunks(deps, base.id, changes);
  const chunks = changes.flatMap((change) => indexedChunks(change, kept, unfilterableOf(change)));
  const hasEmbedded = changes.some(({ outcome }) => 'prepared' in outcome && outcome.prepared.chunks.length > 0);
  // Before the index: from now on nobody compares what it holds of another model with a query of this one.
  if (hasEmbedded) await updateFingerprint(deps.db.sql, base.id, fingerprint);
  const added = changes.filter(({ before }) => before === null).map(({ row }) => row.id);
  await insertFutureTombstones(deps.db.sql, base.id, added, new Date(deps.now() + MAX_WRITE_DURATION_MS));
  await deps.chunks.replace(base.id, ids, { chunks, isNew: added.length === ids.length });
  const gone = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockSource(sql, base.id, source.id))) return null;
    if (hasEmbedded) await updateFingerprint(sql, base.id, fingerprint);
    const known = changes.filter(({ before }) => before !== null).map(({ row }) => row.id);
    // Who deleted it meanwhile wins: an id never comes back.
    const deleted = new Set(known).difference(await selectDocumentsLeft(sql, known));
    const left = changes.filter(({ row }) => !deleted.has(row.id));
    await writeRows(sql, context, left, (change) => rowOf(change, { fingerprint, kept, unfilterableOf }));
    await deleteTombstones(sql, added);
    await endItems(sql, context, ended);
    return [...deleted];
  });
  if (gone !== null) return deps.chunks.remove(base.id, gone);
  // The write may have made anew what the deletion of the knowledge base had removed.
  if (await isDroppedIndex(deps.db.sql, base.id)) await deps.chunks.drop(base.id);
  else await deps.chunks.remove(base.id, ids);
  throw new SourceGone();
}

/** Gives what tells the keys of a document that filters do not see: too long, too many, or not stored. */
async function unfilterableKeys(
  filterKeys: FilterKeys,
  changes: readonly DocumentChange[],
): Promise<(change: DocumentChange) => string[]> {
  const shortKeysOf = ({ row }: DocumentChange) =>
    new Set(Object.keys(row.metadata).filter((key) => isFilterable(key, row.metadata[key])));
  const admitted = await filterKeys.admit(new Set(changes.flatMap((change) => [...shortKeysOf(change)])));
  return (change) => {
    const seen = shortKeysOf(change).intersection(admitted);
    const stored = Object.keys(change.row.metadata).filter((key) => !seen.has(key));
    return [...stored, ...(change.leftOutKeys ?? [])];
  };
}

/** A stored chunk with the vector that the index holds of it, by document. One that the index has lost is missing. */
type KeptChunks = ReadonlyMap<string, readonly (StoredChunk & { vector: Float32Array })[]>;

async function keptChunks(
  deps: Pick<Deps, 'db' | 'chunks'>,
  baseId: string,
  changes: readonly DocumentChange[],
): Promise<KeptChunks> {
  const ids = keptIdsOf(changes);
  if (ids.length === 0) return new Map();
  const vectors = await deps.chunks.vectors(baseId, ids);
  const stored = await selectChunksOf(deps.db.sql, ids);
  const found = stored.flatMap((chunk) => {
    const vector = vectors.get(chunk.id);
    return vector === undefined ? [] : [{ ...chunk, vector }];
  });
  return Map.groupBy(found, ({ documentId }) => documentId);
}

function keptIdsOf(changes: readonly DocumentChange[]): string[] {
  return changes.flatMap(({ outcome }) => ('kept' in outcome ? [outcome.kept.id] : []));
}

async function writeRows(
  sql: Sql,
  { job, base, source }: WriteContext,
  changes: readonly DocumentChange[],
  toRow: (change: DocumentChange) => DocumentRow,
): Promise<void> {
  const before = changes.flatMap((change) => change.before ?? []);
  const written = changes.map(toRow);
  const keptIds = new Set(keptIdsOf(changes));
  await replaceDocuments(sql, written, {
    before: before.map(({ id }) => id).filter((id) => !keptIds.has(id)),
    chunks: changes.flatMap((change) => chunkRowsOf(change, base.id)),
  });
  const created = ({ id, chunkCount }: DocumentRow) => (keptIds.has(id) ? 0 : chunkCount);
  const sums = (rows: readonly DocumentRow[]) => ({
    completed: rows.filter(({ status }) => status === 'completed').length,
    chunks: rows.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
  });
  const [now, then] = [sums(written), sums(before)];
  await addToCounts(
    sql,
    { baseId: base.id, sourceId: source.id },
    { documents: now.completed - then.completed, chunks: now.chunks - then.chunks },
  );
  await upsertJobDocuments(
    sql,
    written.map((row) => ({
      jobId: job.id,
      documentId: row.id,
      documentName: row.name,
      status: row.error === null ? 'completed' : 'failed',
      chunksCreated: created(row),
      error: row.error,
      warnings: row.warnings,
    })),
  );
  await addToJob(sql, job.id, {
    documentsProcessed: now.completed,
    documentsFailed: written.length - now.completed,
    chunksCreated: written.reduce((sum, row) => sum + created(row), 0),
    documentsNew: written.length - before.length,
    documentsModified: before.length,
  });
}

function rowOf(
  change: DocumentChange,
  known: { fingerprint: string; kept: KeptChunks; unfilterableOf: (change: DocumentChange) => string[] },
): DocumentRow {
  const { row, outcome } = change;
  const unfilterableKeys = known.unfilterableOf(change);
  if ('kept' in outcome) {
    // What the index has lost is embedded by nothing: the job embeds it before it ends, as what another model has embedded.
    const isWhole = known.kept.get(row.id)?.length === outcome.kept.chunkCount;
    const embeddingFingerprint = isWhole ? outcome.kept.embeddingFingerprint : null;
    return { ...outcome.kept, ...row, embeddingFingerprint, unfilterableKeys };
  }
  const prepared = 'prepared' in outcome ? outcome.prepared : null;
  const error = 'error' in outcome ? outcome.error : null;
  const chunkCount = prepared?.chunks.length ?? 0;
  return {
    ...row,
    chunkCount,
    status: error === null ? 'completed' : 'failed',
    error,
    contentHash: prepared?.contentHash ?? null,
    extractionHash: prepared?.extractionHash ?? null,
    language: prepared?.language ?? 'none',
    embeddingFingerprint: chunkCount === 0 ? null : known.fingerprint,
    unfilterableKeys,
  };
}

function chunkRowsOf({ row, outcome }: DocumentChange, knowledgeBaseId: string): NewChunkRow[] {
  if (!('prepared' in outcome)) return [];
  return outcome.prepared.chunks.map(({ vector, ...chunk }, position) => ({
    ...chunk,
    documentId: row.id,
    knowledgeBaseId,
    position,
  }));
}

async function endItems(sql: Sql, { job, source }: WriteContext, ended: readonly EndedItem[]): Promise<void> {
  for (const { item, isWhole } of ended) {
    if (isWhole) continue;
    await completeItem(sql, { sourceId: source.id, itemKey: item.key, jobId: job.id }, item.fingerprint);
  }
  const uncounted = ended.reduce((sum, item) => sum + item.uncounted, 0);
  if (uncounted !== 0) await addToJob(sql, job.id, { documentsScanned: uncounted });
  if (source.type !== 'file_upload') return;
  const read = ended.filter(({ unread }) => unread === null).map(({ item }) => item.key);
  await updateProcessed(sql, job.organizationId, read);
  for (const { item, unread } of ended) {
    if (unread !== null) await updateFailed(sql, job.organizationId, item.key, unread.message);
  }
}

function indexedChunks({ row, outcome }: DocumentChange, kept: KeptChunks, unfilterableKeys: readonly string[]) {
  if ('error' in outcome) return [];
  const { language } = 'kept' in outcome ? outcome.kept : outcome.prepared;
  const chunks = 'kept' in outcome ? (kept.get(row.id) ?? []) : outcome.prepared.chunks;
  return chunks.map((chunk) => indexedChunk({ ...row, language, unfilterableKeys }, chunk, chunk.vector));
}
