import type { Admission } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { SourceContent, SourceItem } from '../data-sources/connectors/connector.ts';
import type { DocumentMetadata, StoredMetadata } from '../documents/metadata.ts';
import type { ExtractedDocument, Extraction } from '../extract/extracted-document.ts';
import { flattenMetadata } from '../extract/flatten-metadata.ts';
import { type IngestionError, type JobError, jobErrorOf } from '../jobs/job-error.ts';
import { storedMetadata, withSourceMetadata } from './document-metadata.ts';
import type { FilterKeys } from './filter-keys.ts';
import type { IngestDeps } from './ingest-deps.ts';
import { mapOrdered } from './map-ordered.ts';
import { extractionHash, prepareDocument } from './prepare-document.ts';
import { EmbedderUnavailable } from './retry-while-unavailable.ts';
import {
  addToJob,
  type DocumentRow,
  type JobContext,
  markSeen,
  selectEarlier,
  selectJobContext,
  selectPart,
  upsertJobDocuments,
} from './worker-store.ts';
import { CHUNKS_PER_WRITE, DOCUMENTS_PER_WRITE } from './write-batches.ts';
import { type DocumentChange, SourceGone, type WriteContext, writeDocuments } from './write-documents.ts';

/** What the ingesting of one item needs. */
export interface ItemContext extends JobContext {
  deps: IngestDeps;
  embedder: Admission<'embedding'>;
  filterKeys: FilterKeys;
  call: Call;
  fetch(item: SourceItem): Promise<SourceContent>;
  /** What the source's config adds to the metadata of every document. */
  metadata: DocumentMetadata;
  /** How many documents were stored of items before this run came to them; those without any are not in it. */
  stored: ReadonlyMap<string, number>;
  signal: AbortSignal;
}

/** Documents of one item, such as lines of a JSONL file, that are embedded at once; beside one of many pages no other is begun. */
const PARTS_AHEAD = {
  forEachConcurrent: 8,
  weightOf: (part: Extraction) => ('error' in part ? 0 : part.document.text.length),
  maxWeight: 65_536,
};
/** Ends the fingerprint of documents whose item is not read to its end yet. */
const UNFINISHED = '~';
/** What a document says of itself that cannot be read. */
const NOTHING: StoredMetadata = { metadata: {}, leftOutKeys: [] };

/** An item that was read to its end, with those of its documents that are not written yet. */
export interface ReadItem {
  context: ItemContext;
  item: SourceItem;
  changes: DocumentChange[];
  /** Whether these are all of its documents: none was written before. */
  isWhole: boolean;
  /** Of a file of which nothing could be read. */
  unread: JobError | null;
  /** Documents that it has beyond those that were counted when it was listed; negative where it has fewer. */
  uncounted: number;
}

/**
 * Fetches, reads and embeds one item; null where it could not be. What is wrong with it is said of its document, and is no error of the
 * job. Of an item of many documents only the last are left to write.
 */
export async function processItem(context: ItemContext, item: SourceItem): Promise<ReadItem | null> {
  const { deps, job } = context;
  const startedMs = deps.now();
  try {
    const read = await readItem(context, item);
    deps.logger.debug({ job: job.id, item: item.key, ms: deps.now() - startedMs }, 'a document was worked on');
    return read;
  } catch (error) {
    await failItem(context, item, error);
    return null;
  }
}

/** Throws `SourceGone` where the source, or its knowledge base, was deleted meanwhile. */
export async function checkIsThere({ deps, job }: Pick<ItemContext, 'deps' | 'job'>): Promise<void> {
  if ((await selectJobContext(deps.db.sql, job.id)) === null) throw new SourceGone();
}

async function readItem(context: ItemContext, item: SourceItem): Promise<ReadItem> {
  const { deps, base, signal } = context;
  const content = await context.fetch(item);
  const counted = { bytes: 0 };
  const file = { name: content.filename, mediaType: content.mediaType, content: counting(content.bytes, counted) };
  const parts = deps.extractor.extract(file, { chunkSizeTokens: base.chunkSizeTokens }, signal);
  let changes: DocumentChange[] = [];
  let firstError: JobError | null = null;
  let hasText = false;
  let isWhole = true;
  let documents = 0;
  const work = async (part: Extraction) => ({
    part,
    change: await changeOf(context, { item, content, part, bytes: part.bytes ?? counted.bytes }),
  });
  for await (const { part, change } of mapOrdered(parts, work, PARTS_AHEAD)) {
    documents += 1;
    if ('error' in part) {
      // One line for a file, whatever is wrong with its lines.
      if (firstError === null) noteUnread(context, item, part.error);
      firstError ??= jobErrorOf(part.error);
      // What is stored of the rest is not to be taken for gone.
      if (firstError.retryable && context.stored.has(item.key)) throw part.error;
    } else hasText = true;
    if (change === null) isWhole = false;
    else changes.push(change);
    if (chunksOf(changes) < CHUNKS_PER_WRITE && changes.length < DOCUMENTS_PER_WRITE) continue;
    await writeDocuments(deps, writeContext(context), changes);
    isWhole = false;
    changes = [];
  }
  if (isWhole)
    changes = changes.map((change) => ({ ...change, row: { ...change.row, fingerprint: item.fingerprint } }));
  const unread = hasText ? null : firstError;
  return { context, item, changes, isWhole, unread, uncounted: documents - countedOf(context, item) };
}

/** Documents that an item was counted for when it was listed. */
function countedOf({ stored }: ItemContext, { key }: SourceItem): number {
  return stored.get(key) ?? 1;
}

/** What broke on the file is for the log alone: it names parts of libraries, and of ours. */
function noteUnread({ deps, job }: ItemContext, item: SourceItem, { code, message, cause }: IngestionError): void {
  const reason = cause === undefined ? message : `${message} (${describeError(cause)})`;
  deps.logger.info({ job: job.id, item: item.key, code, reason }, 'a document could not be read');
}

async function* counting(content: AsyncIterable<Uint8Array>, counted: { bytes: number }): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    counted.bytes += piece.byteLength;
    yield piece;
  }
}

/** Chunks of the changes, new ones and kept ones. */
export function chunksOf(changes: readonly DocumentChange[]): number {
  return changes.reduce((sum, { outcome }) => sum + chunkCountOf(outcome), 0);
}

function chunkCountOf(outcome: DocumentChange['outcome']): number {
  if ('error' in outcome) return 0;
  return 'kept' in outcome ? outcome.kept.chunkCount : outcome.prepared.chunks.length;
}

/** For what is written now. */
export function writeContext(context: ItemContext): WriteContext {
  return { ...context, fingerprint: context.embedder.engine.fingerprint() };
}

/** What the part comes to; null where an earlier run of this job has written it. One of the same text and parts keeps its chunks. */
async function changeOf(
  context: ItemContext,
  { item, content, part, bytes }: { item: SourceItem; content: SourceContent; part: Extraction; bytes: number },
): Promise<DocumentChange | null> {
  const { deps, source, job, signal } = context;
  const before = context.stored.has(item.key) ? await selectPart(deps.db.sql, source.id, item.key, part.part) : null;
  if (before?.seenBy === job.id && before.fingerprint === item.fingerprint + UNFINISHED) return null;
  const own = 'error' in part ? null : ownMetadata(part.document, content);
  const { metadata, leftOutKeys } = withSourceMetadata(context.metadata, own ?? NOTHING);
  const warnings = 'error' in part ? [] : (part.document.warnings ?? []);
  const known = { before, part: part.part, bytes, mimeType: content.mediaType, metadata, ownMetadata: own, warnings };
  const row = documentRow(context, item, known);
  if ('error' in part) return { row, before, leftOutKeys, outcome: { error: jobErrorOf(part.error) } };
  if (before?.status === 'completed' && before.extractionHash === (await extractionHash(part.document, signal))) {
    return { row, before, leftOutKeys, outcome: { kept: before } };
  }
  const prepared = await prepareDocument(context, part.document, signal);
  return { row, before, leftOutKeys, outcome: { prepared } };
}

/** What a document says of itself, and its source of it. */
function ownMetadata(document: ExtractedDocument, { metadata }: SourceContent): StoredMetadata {
  const title = document.title === null ? {} : { title: document.title };
  return storedMetadata(document.metadata, flattenMetadata(metadata), title);
}

/** The row of a document whose item is not read to its end yet, but for what follows from its text. */
export function documentRow(
  { base, source, job, deps }: Pick<ItemContext, 'base' | 'source' | 'job' | 'deps'>,
  item: SourceItem,
  known: Pick<DocumentRow, 'part' | 'bytes' | 'mimeType' | 'metadata' | 'ownMetadata' | 'warnings'> & {
    before: DocumentRow | null;
  },
): DocumentChange['row'] {
  const now = new Date(deps.now());
  return {
    id: known.before?.id ?? newId('document'),
    knowledgeBaseId: base.id,
    dataSourceId: source.id,
    organizationId: job.organizationId,
    itemKey: item.key,
    part: known.part,
    fingerprint: item.fingerprint + UNFINISHED,
    seenBy: job.id,
    name: item.name,
    sourceType: source.type,
    sourceUri: item.uri === null || known.part === '' ? item.uri : `${item.uri}#${known.part}`,
    mimeType: known.mimeType,
    bytes: known.bytes,
    metadata: known.metadata,
    ownMetadata: known.ownMetadata,
    warnings: known.warnings,
    createdAt: known.before?.createdAt ?? now,
    updatedAt: now,
  };
}

/**
 * Says of the item's document why it could not be read, or written. An error that may pass leaves what was stored of an earlier state of it:
 * the next sync tries again. Throws what was thrown where it is not the item's fault: the job is stopping, its source is gone, or the
 * embedding model.
 */
export async function failItem(context: ItemContext, item: SourceItem, thrown: unknown): Promise<void> {
  const { deps, job, source, signal } = context;
  if (signal.aborted || thrown instanceof SourceGone || thrown instanceof EmbedderUnavailable) throw thrown;
  deps.logger.info({ job: job.id, item: item.key, reason: describeError(thrown) }, 'a document could not be ingested');
  const error = jobErrorOf(thrown);
  const earlier = error.retryable ? await selectEarlier(deps.db.sql, source.id, item.key, job.id) : null;
  if (earlier !== null) return leaveEarlier(context, item, earlier, error);
  const before = await selectPart(deps.db.sql, source.id, item.key, '');
  const { metadata, leftOutKeys } = withSourceMetadata(context.metadata, NOTHING);
  const known = { before, part: '', bytes: 0, mimeType: null, metadata, ownMetadata: null, warnings: [] };
  const row = documentRow(context, item, known);
  const ended = { item, isWhole: false, unread: error, uncounted: 1 - countedOf(context, item) };
  await writeDocuments(deps, writeContext(context), [{ row, before, leftOutKeys, outcome: { error } }], [ended]);
}

/** An item counts as one document, beside those of it that are written, as long as nobody knows how many it has now. */
async function leaveEarlier(
  context: ItemContext,
  item: SourceItem,
  { document, written }: { document: DocumentRow; written: number },
  error: JobError,
): Promise<void> {
  const { deps, source, job } = context;
  const told = { jobId: job.id, documentId: document.id, documentName: document.name, chunksCreated: 0, error };
  await deps.db.sql.transaction(async (sql) => {
    await markSeen(sql, source.id, [item.key], job.id);
    await addToJob(sql, job.id, { documentsFailed: 1, documentsScanned: written + 1 - countedOf(context, item) });
    await upsertJobDocuments(sql, [{ ...told, status: 'failed' }]);
  });
}
