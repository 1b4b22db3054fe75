import { describeError } from '../../lib/operator-error.ts';
import type { DocumentRow } from '../documents/store.ts';
import { type JobError, toJobError } from '../jobs/job-error.ts';
import { incrementJobCounts } from '../jobs/store.ts';
import { applySourceMetadata } from './document-metadata.ts';
import { buildDocumentRow, type DocumentChange, listedMetadata, NO_METADATA } from './prepare-document.ts';
import { EmbedderUnavailable } from './retry-while-unavailable.ts';
import {
  type ChangedItem,
  countListed,
  type ItemContext,
  RunSupersededError,
  SourceDeletedError,
  writeInRun,
} from './run-context.ts';
import { markSeen, selectPartDocument, selectPreviousVersion, upsertJobDocuments } from './store.ts';
import { isOutage, throughIndexOutage } from './through-outage.ts';
import { type FinishedItem, type WriteContext, writeDocuments } from './write-documents.ts';

/** A processed item with its documents that are not written yet. */
export interface ProcessedItem extends FinishedItem {
  context: ItemContext;
  item: ChangedItem;
  changes: DocumentChange[];
}

/** Adds the fingerprint of the embedding model to the context of an item. */
export function writeContext(context: ItemContext): WriteContext {
  return { ...context, fingerprint: context.embedder.engine.fingerprint() };
}

/** Writes items by embedding model: one write has one fingerprint. */
export async function writeItems(group: readonly ProcessedItem[]): Promise<void> {
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

/** Errors that end the run instead of failing the item. */
const JOB_ERRORS = [SourceDeletedError, RunSupersededError, EmbedderUnavailable];

/**
 * Stores the error of an item with its document. After a retryable error, the previous version stays until the next
 * sync. Rethrows `JOB_ERRORS`, outages of stores, and every error after an abort.
 */
export async function failItem(context: ItemContext, item: ChangedItem, thrown: unknown): Promise<void> {
  const { deps, job, source, signal } = context;
  if (signal.aborted || isOutage(thrown) || JOB_ERRORS.some((type) => thrown instanceof type)) throw thrown;
  deps.logger.info({ job: job.id, item: item.key, reason: describeError(thrown) }, 'item failed');
  const error = toJobError(thrown);
  const previous = error.retryable ? await selectPreviousVersion(deps.db.sql, source.id, item.key, job.id) : null;
  if (previous !== null) return keepPreviousVersion(context, item, previous, error);
  const before = await selectPartDocument(deps.db.sql, source.id, item.key, '');
  const { metadata, leftOutKeys } = applySourceMetadata(listedMetadata(context, item), NO_METADATA);
  const fields = { before, part: '', bytes: 0, mimeType: null, metadata, ownMetadata: null, warnings: [] };
  const row = buildDocumentRow(context, item, fields);
  const finished = { item, isComplete: false, error, extraDocuments: 1 - countListed(item) };
  await writeDocuments(deps, writeContext(context), [{ row, before, leftOutKeys, outcome: { error } }], [finished]);
}

/** Counts the item as one failed document in addition to its written documents. */
async function keepPreviousVersion(
  context: ItemContext,
  item: ChangedItem,
  { document, written }: { document: DocumentRow; written: number },
  error: JobError,
): Promise<void> {
  const { source, job } = context;
  const result = { jobId: job.id, documentId: document.id, documentName: document.name, chunksCreated: 0, error };
  const documentsScanned = written + 1 - countListed(item);
  await writeInRun(context, async (sql) => {
    await markSeen(sql, source.id, [item.key], job.id);
    await incrementJobCounts(sql, job.id, { documentsFailed: 1, documentsScanned });
    await upsertJobDocuments(sql, [{ ...result, status: 'failed' }]);
  });
}
