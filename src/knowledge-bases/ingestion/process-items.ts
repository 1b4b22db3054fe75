import type { PageRenderer } from '../../connectors/browser/page-renderer.ts';
import type { Connector, SourceContent, SourceItem } from '../../connectors/connector.ts';
import type { Deps } from '../../deps.ts';
import type { DocumentMetadata } from '../../extraction/document-metadata.ts';
import type { ExtractedDocument, Extraction } from '../../extraction/extracted-document.ts';
import type { Extractor } from '../../extraction/extractor.ts';
import { flattenMetadata } from '../../extraction/flatten-metadata.ts';
import type { IngestionError } from '../../extraction/ingestion-error.ts';
import type { Admission } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import type { FairSemaphore } from '../../lib/fair-semaphore.ts';
import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { StoredMetadata } from '../documents/metadata.ts';
import type { DocumentRow } from '../documents/store.ts';
import { type JobError, jobErrorOf } from '../jobs/job-error.ts';
import { applySourceMetadata, mergeMetadataLayers } from './document-metadata.ts';
import type { FilterKeys } from './filter-keys.ts';
import { mapOrdered } from './map-ordered.ts';
import { extractionHash, prepareDocument } from './prepare-document.ts';
import { EmbedderUnavailable } from './retry-while-unavailable.ts';
import {
  incrementJobCounts,
  type JobContext,
  lockRun,
  markSeen,
  RunSupersededError,
  selectPartDocument,
  selectPreviousVersion,
  upsertJobDocuments,
} from './store.ts';
import { isOutage, throughIndexOutage, throughOutage } from './through-outage.ts';
import {
  CHUNKS_PER_WRITE,
  DOCUMENTS_PER_WRITE,
  type DocumentChange,
  type FinishedItem,
  SourceDeletedError,
  type WriteContext,
  writeDocuments,
} from './write-documents.ts';

/** Dependencies of an ingestion run. */
export type IngestDeps = Pick<
  Deps,
  'db' | 'blobs' | 'chunks' | 'models' | 'config' | 'logger' | 'reserve' | 'recordUsage' | 'metrics' | 'now'
> & {
  extractor: Pick<Extractor, 'extract'>;
  /** Runs the JavaScript of web pages; null when the operator has not enabled it. */
  renderer: PageRenderer | null;
  /** Limits concurrent items of all jobs, shared fairly among organizations. */
  itemSemaphore: FairSemaphore;
  /** Returns the connector of a data source and its config with decrypted secrets. */
  connectorOf(source: JobContext['source']): { connector: Connector; config: unknown };
};

/** Context of a run that ingests items. */
export interface RunContext extends JobContext {
  deps: IngestDeps;
  /** Admits the embedding model. Called per item, because the model's binding may change during a job. */
  admit(): Admission<'embedding'>;
  filterKeys: FilterKeys;
  call: Call;
  fetch(item: SourceItem): Promise<SourceContent>;
  /** Metadata that the data source's config adds to every document. */
  metadata: DocumentMetadata;
  /** Fields of JSONL files with the text, by the data source's config. */
  textFields: readonly string[] | undefined;
  signal: AbortSignal;
}

interface ItemContext extends RunContext {
  embedder: Admission<'embedding'>;
  /** Documents stored before this run, by key of the item; items without documents are absent. */
  storedCounts: ReadonlyMap<string, number>;
}

/** A processed item with its documents that are not written yet. */
interface ProcessedItem extends FinishedItem {
  context: ItemContext;
  item: SourceItem;
  changes: DocumentChange[];
}

/** Maximum items of one job that are fetched, extracted and embedded concurrently. */
const CONCURRENT_ITEMS = 3;
/** Concurrency for the documents of one item, such as lines of a JSONL file. Large documents are embedded alone. */
const PREFETCH = {
  concurrency: 8,
  weight: (extraction: Extraction) => ('error' in extraction ? 0 : extraction.document.text.length),
  maxWeight: 65_536,
};
/** Maximum time that the documents of an item wait for others, so that the progress of the job stays visible. */
const MAX_WAIT_MS = 1000;
/** Suffix of the fingerprints of documents whose item is not processed completely. */
const INCOMPLETE = '~';
const NO_METADATA: StoredMetadata = { metadata: {}, leftOutKeys: [] };

/**
 * Ingests items concurrently and writes their documents in groups. When this settles, also with an error, all processed
 * items are written. Throws `SourceDeletedError`, the signal's reason, and errors that are not the fault of an item.
 */
export async function processItems(
  context: RunContext,
  items: readonly SourceItem[],
  storedCounts: ReadonlyMap<string, number>,
): Promise<void> {
  const { deps, job, signal } = context;
  const writer = new GroupCommit<ProcessedItem>({
    write: writeGroup,
    weight: writeWeight,
    maxWeight: 1,
    delayMs: MAX_WAIT_MS,
    stopsOnFailure: true,
  });
  try {
    await forEachConcurrent(items, CONCURRENT_ITEMS, async (item) => {
      const processed = await deps.itemSemaphore.within(job.organizationId, signal, async () => {
        const embedder = await throughOutage(context, async () => context.admit());
        return processItem({ ...context, storedCounts, embedder }, item);
      });
      if (processed !== null) await writer.addWithBackpressure(processed);
    });
  } finally {
    await writer.flush();
  }
}

/** Fetches, extracts and embeds an item. Returns null when it failed: the error is stored with its document. */
async function processItem(context: ItemContext, item: SourceItem): Promise<ProcessedItem | null> {
  const { deps, job } = context;
  const startedMs = deps.now();
  try {
    const processed = await throughOutage(context, () => readItem(context, item));
    deps.logger.debug({ job: job.id, item: item.key, ms: deps.now() - startedMs }, 'item processed');
    return processed;
  } catch (error) {
    await failItem(context, item, error);
    return null;
  }
}

/** Reads all documents of an item. Writes full batches; the remaining documents are returned. */
async function readItem(context: ItemContext, item: SourceItem): Promise<ProcessedItem> {
  const { deps, base, signal, textFields } = context;
  const content = await context.fetch(item);
  const fetched = { bytes: 0 };
  const file = { name: content.filename, mediaType: content.mediaType, content: countBytes(content.bytes, fetched) };
  const extractions = deps.extractor.extract(file, { chunkSizeTokens: base.chunkSizeTokens, textFields }, signal);
  let changes: DocumentChange[] = [];
  let firstError: JobError | null = null;
  let hasText = false;
  let isComplete = true;
  let documents = 0;
  const prepare = async (extraction: Extraction) => ({
    extraction,
    change: await prepareChange(context, { item, content, extraction, bytes: extraction.bytes ?? fetched.bytes }),
  });
  for await (const { extraction, change } of mapOrdered(extractions, prepare, PREFETCH)) {
    documents += 1;
    if ('error' in extraction) {
      // One log line per item.
      if (firstError === null) logExtractionError(context, item, extraction.error);
      firstError ??= jobErrorOf(extraction.error);
      // Otherwise the remaining documents of the previous version would count as deleted.
      if (firstError.retryable && context.storedCounts.has(item.key)) throw extraction.error;
    } else hasText = true;
    if (change === null) isComplete = false;
    else changes.push(change);
    if (countChunks(changes) < CHUNKS_PER_WRITE && changes.length < DOCUMENTS_PER_WRITE) continue;
    await writeDocuments(deps, writeContext(context), changes);
    isComplete = false;
    changes = [];
  }
  if (isComplete)
    changes = changes.map((change) => ({ ...change, row: { ...change.row, fingerprint: item.fingerprint } }));
  const error = hasText ? null : firstError;
  return { context, item, changes, isComplete, error, extraDocuments: documents - listedCount(context, item) };
}

/** Documents that were counted for an item when it was listed. */
function listedCount({ storedCounts }: ItemContext, { key }: SourceItem): number {
  return storedCounts.get(key) ?? 1;
}

/** The cause is only logged: it names internals of libraries. */
function logExtractionError({ deps, job }: ItemContext, item: SourceItem, error: IngestionError): void {
  const { code, message, cause } = error;
  const reason = cause === undefined ? message : `${message} (${describeError(cause)})`;
  deps.logger.info({ job: job.id, item: item.key, code, reason }, 'document extraction failed');
}

async function* countBytes(content: AsyncIterable<Uint8Array>, total: { bytes: number }): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    total.bytes += piece.byteLength;
    yield piece;
  }
}

/** Chunks of changes, including those of unchanged documents, which are indexed again. */
function countChunks(changes: readonly DocumentChange[]): number {
  return changes.reduce((sum, { outcome }) => {
    if ('error' in outcome) return sum;
    return sum + ('unchanged' in outcome ? outcome.unchanged.chunkCount : outcome.prepared.chunks.length);
  }, 0);
}

function writeContext(context: ItemContext): WriteContext {
  return { ...context, fingerprint: context.embedder.engine.fingerprint() };
}

/**
 * Prepares one document of an item. Returns null when an earlier run of this job has written it. A document with the same
 * extraction hash keeps its chunks.
 */
async function prepareChange(
  context: ItemContext,
  input: { item: SourceItem; content: SourceContent; extraction: Extraction; bytes: number },
): Promise<DocumentChange | null> {
  const { deps, source, job, signal } = context;
  const { item, content, extraction, bytes } = input;
  const { part } = extraction;
  const before = context.storedCounts.has(item.key)
    ? await selectPartDocument(deps.db.sql, source.id, item.key, part)
    : null;
  if (before?.seenBy === job.id && before.fingerprint === item.fingerprint + INCOMPLETE) return null;
  const ownMetadata = 'error' in extraction ? null : collectMetadata(extraction.document, content);
  const { metadata, leftOutKeys } = applySourceMetadata(context.metadata, ownMetadata ?? NO_METADATA);
  const warnings = 'error' in extraction ? [] : (extraction.document.warnings ?? []);
  const mimeType = content.mediaType;
  const row = buildDocumentRow(context, item, { before, part, bytes, mimeType, metadata, ownMetadata, warnings });
  const change = { row, before, leftOutKeys };
  if ('error' in extraction) return { ...change, outcome: { error: jobErrorOf(extraction.error) } };
  const { document } = extraction;
  if (before?.status === 'completed' && before.extractionHash === (await extractionHash(document, signal))) {
    return { ...change, outcome: { unchanged: before } };
  }
  return { ...change, outcome: { prepared: await prepareDocument(context, document, signal) } };
}

/** Merges the metadata of a document with that of its item. */
function collectMetadata(document: ExtractedDocument, { metadata }: SourceContent): StoredMetadata {
  const title = document.title === null ? {} : { title: document.title };
  return mergeMetadataLayers(document.metadata, flattenMetadata(metadata), title);
}

/** Builds the row of a document whose item is not complete, without the columns that depend on its text. */
export function buildDocumentRow(
  { base, source, job, deps }: Pick<ItemContext, 'base' | 'source' | 'job' | 'deps'>,
  item: SourceItem,
  fields: Pick<DocumentRow, 'part' | 'bytes' | 'mimeType' | 'metadata' | 'ownMetadata' | 'warnings'> & {
    before: DocumentRow | null;
  },
): DocumentChange['row'] {
  const { before, part, bytes, mimeType, metadata, ownMetadata, warnings } = fields;
  const now = new Date(deps.now());
  return {
    id: before?.id ?? newId('document'),
    knowledgeBaseId: base.id,
    dataSourceId: source.id,
    organizationId: job.organizationId,
    itemKey: item.key,
    part,
    fingerprint: item.fingerprint + INCOMPLETE,
    seenBy: job.id,
    // PostgreSQL does not accept NUL, and names come from remote services.
    name: item.name.replaceAll('\0', ''),
    sourceType: source.type,
    sourceUri: item.uri === null || part === '' ? item.uri : `${item.uri}#${part}`,
    mimeType,
    bytes,
    metadata,
    ownMetadata,
    warnings,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  };
}

/** Errors that end the run instead of failing the item. */
const JOB_ERRORS = [SourceDeletedError, RunSupersededError, EmbedderUnavailable];

/**
 * Stores the error of an item with its document. After a retryable error, the previous version stays until the next sync.
 * Rethrows `JOB_ERRORS`, outages of stores, and every error after an abort.
 */
async function failItem(context: ItemContext, item: SourceItem, thrown: unknown): Promise<void> {
  const { deps, job, source, signal } = context;
  if (signal.aborted || isOutage(thrown) || JOB_ERRORS.some((type) => thrown instanceof type)) throw thrown;
  deps.logger.info({ job: job.id, item: item.key, reason: describeError(thrown) }, 'item failed');
  const error = jobErrorOf(thrown);
  const previous = error.retryable ? await selectPreviousVersion(deps.db.sql, source.id, item.key, job.id) : null;
  if (previous !== null) return keepPreviousVersion(context, item, previous, error);
  const before = await selectPartDocument(deps.db.sql, source.id, item.key, '');
  const { metadata, leftOutKeys } = applySourceMetadata(context.metadata, NO_METADATA);
  const fields = { before, part: '', bytes: 0, mimeType: null, metadata, ownMetadata: null, warnings: [] };
  const row = buildDocumentRow(context, item, fields);
  const finished = { item, isComplete: false, error, extraDocuments: 1 - listedCount(context, item) };
  await writeDocuments(deps, writeContext(context), [{ row, before, leftOutKeys, outcome: { error } }], [finished]);
}

/** Counts the item as one failed document in addition to its written documents. */
async function keepPreviousVersion(
  context: ItemContext,
  item: SourceItem,
  { document, written }: { document: DocumentRow; written: number },
  error: JobError,
): Promise<void> {
  const { deps, source, job } = context;
  const result = { jobId: job.id, documentId: document.id, documentName: document.name, chunksCreated: 0, error };
  const documentsScanned = written + 1 - listedCount(context, item);
  await deps.db.sql.transaction(async (sql) => {
    if (!(await lockRun(sql, context))) throw new SourceDeletedError();
    await markSeen(sql, source.id, [item.key], job.id);
    await incrementJobCounts(sql, job.id, { documentsFailed: 1, documentsScanned });
    await upsertJobDocuments(sql, [{ ...result, status: 'failed' }]);
  });
}

/** Share of a full write, by chunks or by documents. */
function writeWeight({ changes }: ProcessedItem): number {
  return Math.max(countChunks(changes) / CHUNKS_PER_WRITE, changes.length / DOCUMENTS_PER_WRITE);
}

/** Writes items by embedding model: one write has one fingerprint. */
async function writeGroup(group: readonly ProcessedItem[]): Promise<void> {
  const byModel = Map.groupBy(group, ({ context }) => context.embedder.engine.fingerprint());
  for (const items of byModel.values()) await writeTogether(items);
}

/** Writes items in one transaction; after a failure, one by one, so that one bad item does not fail the others. */
async function writeTogether(items: readonly ProcessedItem[]): Promise<void> {
  const [first] = items;
  if (first === undefined) return;
  const { deps, base } = first.context;
  const changes = items.flatMap((item) => item.changes);
  // After a failure the index may already contain them, and new documents are added without a lookup.
  const added = changes.filter(({ before }) => before === null).map(({ row }) => row.id);
  let isRepeated = false;
  try {
    await throughIndexOutage(first.context, async () => {
      if (isRepeated) await deps.chunks.remove(base.id, added);
      isRepeated = true;
      await writeDocuments(deps, writeContext(first.context), changes, items);
    });
  } catch (error) {
    if (isOutage(error) || error instanceof SourceDeletedError || error instanceof RunSupersededError) throw error;
    await throughIndexOutage(first.context, () => deps.chunks.remove(base.id, added));
    if (items.length === 1) await failItem(first.context, first.item, error);
    else for (const item of items) await writeTogether([item]);
  }
}
