import type { SourceItem } from '../../connectors/connector.ts';
import { GuardedHttp } from '../../connectors/http/guarded-http.ts';
import type { DocumentMetadata } from '../../extraction/document-metadata.ts';
import type { Extraction } from '../../extraction/extracted-document.ts';
import { flattenMetadata } from '../../extraction/flatten-metadata.ts';
import type { IngestionError } from '../../extraction/ingestion-error.ts';
import { admit } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import { forEachConcurrent } from '../../lib/for-each-concurrent.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { describeError } from '../../lib/operator-error.ts';
import { contentFingerprint, createConnectorStores } from '../data-sources/source-config.ts';
import { deleteExpiredItems, type ExpiredItem, markExpiredSeen, updateExpiry } from '../documents/expiry-store.ts';
import { type JobError, toJobError } from '../jobs/job-error.ts';
import { incrementJobCounts, setReading } from '../jobs/store.ts';
import { deleteUnlisted } from './delete-unlisted.ts';
import { FilterKeys } from './filter-keys.ts';
import { maintainIndex } from './maintain-index.ts';
import { mapOrdered } from './map-ordered.ts';
import { type FileProgress, OcrProgressWriter } from './ocr-progress.ts';
import { type DocumentChange, prepareDocument } from './prepare-document.ts';
import {
  type ChangedItem,
  countListed,
  type IngestDeps,
  type ItemContext,
  type RunContext,
  RunSupersededError,
  SourceDeletedError,
  writeInRun,
} from './run-context.ts';
import { type ItemState, type JobContext, markSeen, selectItemStates, selectJobContext } from './store.ts';
import { throughOutage } from './through-outage.ts';
import { isContentUnchanged, updateItemMetadata } from './update-metadata.ts';
import { writeDocuments, writeShare } from './write-documents.ts';
import { failItem, type ProcessedItem, writeContext, writeItems } from './write-items.ts';

/** Listed items that are compared with the stored documents at once. */
const ITEMS_PER_GROUP = 200;
/** Maximum items of one job that are fetched, extracted and embedded concurrently. */
const CONCURRENT_ITEMS = 3;
/** Maximum time that the documents of an item wait for others, so that the progress of the job stays visible. */
const MAX_WAIT_MS = 1000;
/** Concurrency for the documents of one item, such as lines of a JSONL file. Large documents are embedded alone. */
const PREFETCH = {
  concurrency: 8,
  weight: (extraction: Extraction) => ('error' in extraction ? 0 : extraction.document.text.length),
  maxWeight: 65_536,
};

/**
 * Brings the documents of a data source up to date: lists its items, compares them with the stored documents, ingests
 * new and changed ones (`ingestItems`), and deletes the documents of items that were not listed. Throws
 * `SourceDeletedError`, `RunSupersededError`, the signal's reason, and errors that are not the fault of an item.
 */
export async function syncItems(deps: IngestDeps, context: JobContext & { call: Call }, stopped: AbortSignal) {
  const { job, source, base, call } = context;
  const { connector, config } = deps.openSource(source);
  const http = new GuardedHttp(deps.config.allowPrivateHosts);
  const stores = createConnectorStores(deps.db.sql, { sourceId: source.id, jobId: job.id });
  const connectorDeps = { ...deps, ...stores, organizationId: job.organizationId, sourceId: source.id, http };
  // OCR reads a large file for minutes without a write that would detect the end of the job.
  const superseded = new AbortController();
  const signal = AbortSignal.any([stopped, superseded.signal]);
  const ocrProgress = new OcrProgressWriter({
    write: async (reading) => {
      if (!(await setReading(deps.db.sql, job, reading))) superseded.abort(new RunSupersededError());
    },
    onFailure: (error) => deps.logger.debug({ job: job.id, reason: describeError(error) }, 'OCR progress not stored'),
  });
  const run: RunContext = {
    ...context,
    deps,
    filterKeys: new FilterKeys(deps.db, base.id),
    ocrProgress,
    // With the vectors that searches use. The vectors of a newly bound model are made at the end of the job.
    admit: () => {
      const { embeddingModel: model, embeddingFingerprint: fingerprint } = run.base;
      return admit(deps, call, { kind: 'embedding', model, fingerprint });
    },
    metadata: configMetadata(config),
    textFields: (Object(config) as { text_fields?: string[] }).text_fields,
    expiresAfterSeconds: (Object(config) as { expires_after?: number }).expires_after ?? null,
    fetch: (item) => connector.fetch(connectorDeps, config, item, signal),
    signal,
  };
  try {
    if (!connector.listsChangesOnly) await applyExpiry(run);
    for await (const items of groupItems(connector.list(connectorDeps, config, signal), ITEMS_PER_GROUP)) {
      signal.throwIfAborted();
      const { changed, relabelled } = await compareItems(run, items);
      await updateItemMetadata(run, relabelled);
      await ingestItems(run, changed);
      const current = await selectJobContext(deps.db.sql, job.id);
      if (current === null) throw new SourceDeletedError();
      run.base = current.base;
      await maintainIndex(deps, base.id, true);
    }
    await deleteUnlisted(run, connector);
    await connector.finish?.(connectorDeps);
  } finally {
    await ocrProgress.flush();
    await http.close();
  }
}

/** Applies the expiry of the config to the documents that a sync leaves unchanged. */
function applyExpiry(context: RunContext): Promise<void> {
  const { source, expiresAfterSeconds } = context;
  return writeInRun(context, async (sql) => {
    await updateExpiry(sql, source.id, expiresAfterSeconds);
    if (expiresAfterSeconds === null) await deleteExpiredItems(sql, source.id, null);
  });
}

/** Metadata of a data source's config, which applies to all of its documents. */
function configMetadata(config: unknown): DocumentMetadata {
  const { metadata } = Object(config) as { metadata?: Record<string, unknown> };
  return flattenMetadata(metadata);
}

async function* groupItems<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** Returns new and changed items, and those of which only metadata changed (`relabelled`). Marks the others as seen. */
async function compareItems(
  context: RunContext,
  items: readonly SourceItem[],
): Promise<{ changed: ChangedItem[]; relabelled: SourceItem[] }> {
  const { deps, job, source } = context;
  const keys = items.map(({ key }) => key);
  const states = await selectItemStates(deps.db.sql, source.id, keys);
  const stored = new Map(states.map((state) => [state.itemKey, state]));
  const storedState = ({ key }: SourceItem) => stored.get(key);
  const expired = new Map((await markExpired(context, keys)).map((item) => [item.itemKey, item.fingerprint]));
  const isExpired = ({ key, fingerprint }: SourceItem) =>
    !stored.has(key) && expired.get(key) === contentFingerprint(fingerprint);
  const [current, outdated] = partition(items, (item) => isExpired(item) || isCurrent(storedState(item), item, job.id));
  const [relabelled, changed] = partition(outdated, (item) => isContentUnchanged(storedState(item), item));
  const skipped = current.filter((item) => storedState(item)?.seenBy !== job.id);
  // A new item counts as one document until it has been read.
  const countDocuments = (some: readonly SourceItem[]) =>
    some.reduce((sum, item) => sum + (storedState(item)?.documents ?? 1), 0);
  await writeInRun(context, async (sql) => {
    const skippedKeys = skipped.map(({ key }) => key);
    await markSeen(sql, source.id, skippedKeys, job.id);
    await incrementJobCounts(sql, job.id, {
      documentsScanned: countDocuments(items),
      documentsSkipped: countDocuments(skipped),
    });
  });
  return {
    changed: changed.map((item) => ({ ...item, storedDocuments: storedState(item)?.documents ?? 0 })),
    relabelled,
  };
}

/** Whether the stored documents are of the item's current version. Failed items are retried, but once per job. */
function isCurrent(stored: ItemState | undefined, { fingerprint }: SourceItem, jobId: string): boolean {
  if (stored === undefined || stored.fingerprints.some((one) => one !== fingerprint)) return false;
  return !stored.hasFailed || stored.seenBy === jobId;
}

/** Returns the expired items. */
async function markExpired(context: RunContext, keys: readonly string[]): Promise<ExpiredItem[]> {
  const { deps, job, source, expiresAfterSeconds } = context;
  if (expiresAfterSeconds === null) return [];
  return markExpiredSeen(deps.db.sql, source.id, { keys, jobId: job.id });
}

function partition<T>(items: readonly T[], condition: (item: T) => boolean): [T[], T[]] {
  const matching = new Set(items.filter(condition));
  return [[...matching], items.filter((item) => !matching.has(item))];
}

/**
 * Ingests items concurrently and writes their documents in groups. When this settles, also with an error, all processed
 * items are written.
 */
async function ingestItems(context: RunContext, items: readonly ChangedItem[]): Promise<void> {
  const { deps, job, signal } = context;
  const writer = new GroupCommit<ProcessedItem>({
    write: writeItems,
    weight: ({ changes }) => writeShare(changes),
    maxWeight: 1,
    delayMs: MAX_WAIT_MS,
    stopsOnFailure: true,
  });
  try {
    await forEachConcurrent(items, CONCURRENT_ITEMS, async (item) => {
      const processed = await deps.itemSemaphore.within(job.organizationId, signal, async () => {
        const embedder = await throughOutage(context, async () => context.admit());
        return processItem({ ...context, embedder }, item);
      });
      if (processed !== null) await writer.addWithBackpressure(processed);
    });
  } finally {
    await writer.flush();
  }
}

/** Reads an item. Returns null when it failed: the error is stored with its document. */
async function processItem(context: ItemContext, item: ChangedItem): Promise<ProcessedItem | null> {
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

/** Reads an item and shows the progress of OCR until it is read or has failed. */
async function readItem(context: ItemContext, item: ChangedItem): Promise<ProcessedItem> {
  const progress = context.ocrProgress.begin(item.name);
  try {
    return await readDocuments(context, item, progress.onPage);
  } finally {
    progress.end();
  }
}

/** Fetches, extracts, chunks and embeds the documents of an item. Writes full batches; returns the remaining ones. */
async function readDocuments(
  context: ItemContext,
  item: ChangedItem,
  onPage: FileProgress['onPage'],
): Promise<ProcessedItem> {
  const { deps, base, signal, textFields } = context;
  const content = await context.fetch(item);
  const fetched = { bytes: 0 };
  const file = { name: content.filename, mediaType: content.mediaType, content: countBytes(content.bytes, fetched) };
  const { chunkSizeTokens } = item.chunkSize ?? base;
  const options = { chunkSizeTokens, textFields, onPage };
  const extractions = deps.extractor.extract(file, options, signal);
  const prepare = async (extraction: Extraction) => ({
    extraction,
    change: await prepareDocument(context, { item, content, extraction, bytes: extraction.bytes ?? fetched.bytes }),
  });
  let changes: DocumentChange[] = [];
  let firstError: JobError | null = null;
  let hasText = false;
  let isComplete = true;
  let documents = 0;
  for await (const { extraction, change } of mapOrdered(extractions, prepare, PREFETCH)) {
    documents += 1;
    if ('error' in extraction) {
      // One log line per item.
      if (firstError === null) logExtractionError(context, item, extraction.error);
      firstError ??= toJobError(extraction.error);
      // Otherwise the remaining documents of the previous version would count as deleted.
      if (firstError.retryable && item.storedDocuments > 0) throw extraction.error;
    } else hasText = true;
    if (change === null) isComplete = false;
    else changes.push(change);
    if (writeShare(changes) < 1) continue;
    await writeDocuments(deps, writeContext(context), changes);
    isComplete = false;
    changes = [];
  }
  if (isComplete)
    changes = changes.map((change) => ({ ...change, row: { ...change.row, fingerprint: item.fingerprint } }));
  const error = hasText ? null : firstError;
  return { context, item, changes, isComplete, error, extraDocuments: documents - countListed(item) };
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
