import { updateFailed, updateProcessed } from '../../files/store.ts';
import type { AdmittedEmbedder } from '../../inference/embed.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { reasonOf } from '../../lib/start-error.ts';
import type { SourceContent, SourceItem } from '../data-sources/connectors/connector.ts';
import type { Extraction } from './extract/extracted-document.ts';
import type { FilterKeys } from './filter-keys.ts';
import type { IngestDeps } from './ingest-source.ts';
import { type IngestionError, type JobError, jobErrorOf } from './job-error.ts';
import { prepareDocument } from './prepare-document.ts';
import {
  addToJob,
  completeItem,
  type DocumentRow,
  type JobContext,
  markSeen,
  selectJobContext,
  selectPart,
  upsertJobDocument,
} from './worker-store.ts';
import { type DocumentChange, SourceGone, writeDocuments } from './write-documents.ts';

/** What the ingesting of one item needs. */
export interface ItemContext extends JobContext {
  deps: IngestDeps;
  embedder: AdmittedEmbedder;
  filterKeys: FilterKeys;
  call: Call;
  fetch(item: SourceItem): Promise<SourceContent>;
  /** What the source's config adds to the metadata of every document. */
  metadata: Record<string, unknown>;
  signal: AbortSignal;
}

/** Chunks, or documents, that are written in one go: each write is one more piece that the index has to compact. */
const CHUNKS_PER_WRITE = 512;
const DOCUMENTS_PER_WRITE = 128;
/** Ends the fingerprint of documents whose item is not read to its end yet. */
const UNFINISHED = '~';

/** Fetches, reads, embeds and writes one item. What is wrong with it is said of its document, and is no error of the job. */
export async function ingestItem(context: ItemContext, item: SourceItem): Promise<void> {
  const { deps, job, source, signal } = context;
  const startedMs = deps.now();
  try {
    const unread = await readItem(context, item);
    await deps.db.sql.transaction(async (sql) => {
      await completeItem(sql, { sourceId: source.id, itemKey: item.key, jobId: job.id }, item.fingerprint);
      if (source.type !== 'file_upload') return;
      if (unread === null) await updateProcessed(sql, job.organizationId, item.key);
      else await updateFailed(sql, job.organizationId, item.key, unread.message);
    });
    deps.logger.debug({ job: job.id, item: item.key, ms: deps.now() - startedMs }, 'a document was worked on');
  } catch (error) {
    if (signal.aborted || error instanceof SourceGone) throw error;
    deps.logger.info({ job: job.id, item: item.key, reason: reasonOf(error) }, 'a document could not be ingested');
    await failItem(context, item, jobErrorOf(error));
  }
}

/** Throws `SourceGone` where the source, or its knowledge base, was deleted meanwhile. */
export async function checkIsThere({ deps, job }: Pick<ItemContext, 'deps' | 'job'>): Promise<void> {
  if ((await selectJobContext(deps.db.sql, job.id)) === null) throw new SourceGone();
}

/** Writes what the item has; gives the error of a file of which nothing could be read. */
async function readItem(context: ItemContext, item: SourceItem): Promise<JobError | null> {
  const { deps, base, signal } = context;
  const content = await context.fetch(item);
  const counted = { bytes: 0 };
  const file = { name: content.filename, mediaType: content.mediaType, content: counting(content.bytes, counted) };
  const parts = deps.extractor.extract(file, { chunkSizeTokens: base.chunkSizeTokens }, signal);
  let changes: DocumentChange[] = [];
  let firstError: JobError | null = null;
  let hasText = false;
  for await (const part of parts) {
    if ('error' in part) {
      // One line for a file, whatever is wrong with its lines.
      if (firstError === null) noteUnread(context, item, part.error);
      firstError ??= jobErrorOf(part.error);
    } else hasText = true;
    const change = await changeOf(context, { item, content, part, bytes: counted.bytes });
    if (change !== null) changes.push(change);
    if (!isEnough(changes)) continue;
    await writeDocuments(deps, withFingerprint(context), changes);
    changes = [];
  }
  await writeDocuments(deps, withFingerprint(context), changes);
  return hasText ? null : firstError;
}

/** What broke on the file is for the log alone: it names parts of libraries, and of ours. */
function noteUnread({ deps, job }: ItemContext, item: SourceItem, { code, message, cause }: IngestionError): void {
  const reason = cause === undefined ? message : `${message} (${cause})`;
  deps.logger.info({ job: job.id, item: item.key, code, reason }, 'a document could not be read');
}

async function* counting(content: AsyncIterable<Uint8Array>, counted: { bytes: number }): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    counted.bytes += piece.byteLength;
    yield piece;
  }
}

function isEnough(changes: readonly DocumentChange[]): boolean {
  const chunks = changes.reduce(
    (sum, { outcome }) => sum + ('prepared' in outcome ? outcome.prepared.chunks.length : 0),
    0,
  );
  return chunks >= CHUNKS_PER_WRITE || changes.length >= DOCUMENTS_PER_WRITE;
}

const withFingerprint = (context: ItemContext) => ({ ...context, fingerprint: context.embedder.engine.fingerprint() });

/** What the part comes to; null where an earlier run of this job has written it. */
async function changeOf(
  context: ItemContext,
  { item, content, part, bytes }: { item: SourceItem; content: SourceContent; part: Extraction; bytes: number },
): Promise<DocumentChange | null> {
  const { deps, source, job, signal } = context;
  const before = await selectPart(deps.db.sql, source.id, item.key, part.part);
  if (before?.seenBy === job.id && before.fingerprint === item.fingerprint + UNFINISHED) return null;
  const row = rowOf(context, item, {
    before,
    part: part.part,
    bytes,
    mimeType: content.mediaType,
    metadata: 'document' in part ? { ...titleOf(part), ...content.metadata, ...part.document.metadata } : {},
  });
  if ('error' in part) return { row, before, outcome: { error: jobErrorOf(part.error) } };
  const prepared = await prepareDocument(context, part.document, signal);
  return { row, before, outcome: { prepared } };
}

function titleOf({ document }: Extract<Extraction, { document: unknown }>): { title?: string } {
  return document.title === null ? {} : { title: document.title };
}

function rowOf(
  { base, source, job, deps, metadata }: ItemContext,
  item: SourceItem,
  known: Pick<DocumentRow, 'part' | 'bytes' | 'mimeType' | 'metadata'> & { before: DocumentRow | null },
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
    metadata: { ...known.metadata, ...metadata },
    createdAt: known.before?.createdAt ?? now,
    updatedAt: now,
  };
}

/**
 * Says of the item's document why it could not be read. An error that may pass leaves what was stored of an earlier state of it: the next
 * sync tries again.
 */
async function failItem(context: ItemContext, item: SourceItem, error: JobError): Promise<void> {
  const { deps, job, source } = context;
  const before = await selectPart(deps.db.sql, source.id, item.key, '');
  if (error.retryable && before?.status === 'completed') {
    await deps.db.sql.transaction(async (sql) => {
      await markSeen(sql, source.id, [item.key], job.id);
      await addToJob(sql, job.id, { documentsFailed: 1 });
      await upsertJobDocument(sql, {
        jobId: job.id,
        documentId: before.id,
        documentName: before.name,
        status: 'failed',
        chunksCreated: 0,
        error,
      });
    });
    return;
  }
  const row = rowOf(context, item, { before, part: '', bytes: 0, mimeType: null, metadata: {} });
  await writeDocuments(deps, withFingerprint(context), [{ row, before, outcome: { error } }]);
  await deps.db.sql.transaction(async (sql) => {
    await completeItem(sql, { sourceId: source.id, itemKey: item.key, jobId: job.id }, item.fingerprint);
    if (source.type === 'file_upload') await updateFailed(sql, job.organizationId, item.key, error.message);
  });
}
