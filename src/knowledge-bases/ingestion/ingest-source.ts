import type { SourceItem } from '../../connectors/connector.ts';
import { GuardedHttp } from '../../connectors/http/guarded-http.ts';
import type { DocumentMetadata } from '../../extraction/document-metadata.ts';
import { flattenMetadata } from '../../extraction/flatten-metadata.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { deleteFileUses } from '../../files/store.ts';
import { admit } from '../../inference/admission.ts';
import { type Call, serviceCaller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import { createConnectorStores } from '../data-sources/open-source.ts';
import type { DocumentRow } from '../documents/store.ts';
import { type JobError, jobErrorOf } from '../jobs/job-error.ts';
import { FilterKeys } from './filter-keys.ts';
import { countUnseen, hasPendingDeletions, setPendingDeletions } from './held-deletions-store.ts';
import { maintainIndex } from './maintain-index.ts';
import { type IngestDeps, processItems, type RunContext } from './process-items.ts';
import { countStaleChunks, reEmbedChunks } from './re-embed.ts';
import {
  beginRun,
  deleteDocumentRows,
  endJob,
  type ItemState,
  incrementCounts,
  incrementJobCounts,
  type JobContext,
  lockRun,
  lockSource,
  markSeen,
  RunSupersededError,
  selectItemStates,
  selectJobContext,
  selectUnseen,
  undoAttempt,
} from './store.ts';
import { isOutage } from './through-outage.ts';
import { isContentUnchanged, updateItemMetadata } from './update-metadata.ts';
import { SourceDeletedError } from './write-documents.ts';

/** Maximum runs of a job without a finished document, including runs that crashed the process. */
const MAX_ATTEMPTS = 5;
/** Listed items that are compared with the stored documents at once. */
const ITEMS_PER_GROUP = 200;
/** Documents deleted per transaction. */
const DOCUMENTS_PER_DELETION = 500;

/**
 * Runs an ingestion job: lists the items of a data source, ingests new and changed ones, updates documents of which only
 * metadata changed, and deletes documents of deleted items. A document that fails does not affect others; the job fails
 * when the data source cannot be listed. May be called again: finished documents stay finished, and a call that still runs, in any
 * process, writes nothing more and throws a `RunSupersededError`.
 */
export async function ingestSource(deps: IngestDeps, jobId: string, signal: AbortSignal): Promise<void> {
  const context = await begin(deps, jobId);
  if (context === null) return maintainEnded(deps, jobId);
  if (context.job.attempts >= MAX_ATTEMPTS) return end(deps, context, jobErrorOf(tooManyCrashes()));
  try {
    await run(deps, context, signal);
    await end(deps, context, null);
  } catch (error) {
    const current = await selectJobContext(deps.db.sql, jobId);
    // Cancelled, or deleted with its data source. What it wrote before is searched.
    if (error instanceof SourceDeletedError || current === null) return maintainIndex(deps, context.base.id);
    // An outage is not the fault of the job: the queue starts it again, as often as needed.
    if (signal.aborted || isOutage(error) || error instanceof RunSupersededError) {
      await undoAttempt(deps.db.sql, context.job);
      throw error;
    }
    const jobError = jobErrorOf(error);
    if (jobError.retryable && current.job.attempts < MAX_ATTEMPTS) throw error;
    deps.logger.warn({ job: jobId, code: jobError.code, reason: describeError(error) }, 'ingestion job failed');
    await end(deps, context, jobError);
    await maintainIndex(deps, context.base.id);
  }
}

/** Maintains the index after a job that was cancelled when no process ran it any more. */
async function maintainEnded(deps: IngestDeps, jobId: string): Promise<void> {
  const ended = await selectJobContext(deps.db.sql, jobId);
  if (ended !== null) await maintainIndex(deps, ended.base.id);
}

function tooManyCrashes(): IngestionError {
  const message = `The process ended ${MAX_ATTEMPTS} times while it ingested the same documents of this data source.`;
  return new IngestionError('server_error', message);
}

/** Starts a run; null when there is nothing to run. Later changes of the data source are left to the next job. */
async function begin(deps: IngestDeps, jobId: string): Promise<JobContext | null> {
  const unlocked = await selectJobContext(deps.db.sql, jobId);
  if (unlocked === null) return null;
  return deps.db.sql.transaction(async (sql) => {
    await lockSource(sql, unlocked.base.id, unlocked.source.id);
    const context = await selectJobContext(sql, jobId);
    if (context === null || context.job.status === 'completed' || context.job.status === 'failed') return null;
    const run = await beginRun(sql, context, new Date(deps.now()));
    return { ...context, job: { ...context.job, run } };
  });
}

async function end(deps: IngestDeps, context: JobContext, error: JobError | null): Promise<void> {
  await deps.db.sql.transaction(async (sql) => {
    if (!(await lockRun(sql, context))) return;
    await endJob(sql, context, { error, at: new Date(deps.now()) });
    await deleteFileUses(sql, context.job.id);
  });
}

/** Every job also re-embeds documents of the data source that another embedding model has embedded. */
async function run(deps: IngestDeps, context: JobContext, signal: AbortSignal): Promise<void> {
  const { job, base } = context;
  const caller = serviceCaller(job.organizationId, job.keyId);
  const call: Call = { caller, requestId: newId('request'), endpoint: 'ingestion', priority: 'batch' };
  if (job.kind === 'sync') await syncItems(deps, { ...context, call }, signal);
  else {
    const documentsScanned = await countStaleChunks(deps, { ...context, call });
    await deps.db.sql.transaction(async (sql) => {
      if (!(await lockRun(sql, context))) throw new SourceDeletedError();
      await incrementJobCounts(sql, job.id, { documentsScanned });
    });
  }
  const embedded = await reEmbedChunks(deps, { ...context, call }, signal);
  // The partitions of an approximate index fit the vectors of the previous model only.
  if (embedded > 0 || job.kind === 'embed') await deps.chunks.rebuild(base.id);
  else await maintainIndex(deps, base.id);
}

async function syncItems(deps: IngestDeps, context: JobContext & { call: Call }, signal: AbortSignal): Promise<void> {
  const { job, source, base } = context;
  const { connector, config } = deps.connectorOf(source);
  const http = new GuardedHttp(deps.config.allowPrivateHosts);
  const stores = createConnectorStores(deps.db.sql, { sourceId: source.id, jobId: job.id });
  const connectorDeps = { ...deps, ...stores, organizationId: job.organizationId, sourceId: source.id, http };
  const run: RunContext = {
    ...context,
    deps,
    filterKeys: new FilterKeys(deps.db, base.id),
    admit: () => admit(deps, context.call, { kind: 'embedding', model: base.embeddingModel }),
    metadata: configMetadata(config),
    textFields: (Object(config) as { text_fields?: string[] }).text_fields,
    fetch: (item) => connector.fetch(connectorDeps, config, item, signal),
    signal,
  };
  try {
    for await (const items of groupItems(connector.list(connectorDeps, config, signal), ITEMS_PER_GROUP)) {
      signal.throwIfAborted();
      await syncGroup(run, items);
    }
    if (connector.confirmsDeletions !== true || !(await holdDeletions(deps, context)))
      await deleteUnseen(deps, context);
    await connector.finish?.(connectorDeps);
  } finally {
    await http.close();
  }
}

/** Metadata of a data source's config, which applies to all of its documents. */
function configMetadata(config: unknown): DocumentMetadata {
  const { metadata } = Object(config) as { metadata?: Record<string, unknown> };
  return flattenMetadata(metadata);
}

/** Compares items with the stored documents. Ingests changed items; updates those of which only metadata changed. */
async function syncGroup(context: RunContext, items: readonly SourceItem[]): Promise<void> {
  const { deps, job, source } = context;
  const keys = items.map(({ key }) => key);
  const states = await selectItemStates(deps.db.sql, source.id, keys);
  const stored = new Map(states.map((state) => [state.itemKey, state]));
  const changed = items.filter((item) => !isCurrent(stored.get(item.key), item, job.id));
  const relabelled = changed.filter((item) => isContentUnchanged(stored.get(item.key), item));
  const skipped = items.filter((item) => !changed.includes(item) && stored.get(item.key)?.seenBy !== job.id);
  // A new item counts as one document until it has been read.
  const countDocuments = (some: readonly SourceItem[]) =>
    some.reduce((sum, { key }) => sum + (stored.get(key)?.documents ?? 1), 0);
  const skippedKeys = skipped.map(({ key }) => key);
  await deps.db.sql.transaction(async (sql) => {
    if (!(await lockRun(sql, context))) throw new SourceDeletedError();
    await markSeen(sql, source.id, skippedKeys, job.id);
    await incrementJobCounts(sql, job.id, {
      documentsScanned: countDocuments(items),
      documentsSkipped: countDocuments(skipped),
    });
  });
  await updateItemMetadata(context, relabelled);
  const storedCounts = new Map(states.map(({ itemKey, documents }) => [itemKey, documents]));
  const isRelabelled = new Set(relabelled);
  await processItems(
    context,
    changed.filter((item) => !isRelabelled.has(item)),
    storedCounts,
  );
  if ((await selectJobContext(deps.db.sql, job.id)) === null) throw new SourceDeletedError();
  await maintainIndex(deps, context.base.id, true);
}

/** Whether the stored documents are of the item's current version. Failed items are retried, but once per job. */
function isCurrent(stored: ItemState | undefined, { fingerprint }: SourceItem, jobId: string): boolean {
  if (stored === undefined || stored.fingerprints.some((one) => one !== fingerprint)) return false;
  return !stored.hasFailed || stored.seenBy === jobId;
}

/**
 * Leaves the deletion of more than half of a source's earlier documents to the next sync, once: an empty or partial listing of a
 * remote service looks like a deletion, and so does a changed prefix. Returns whether it did.
 */
async function holdDeletions({ db, logger }: IngestDeps, context: JobContext): Promise<boolean> {
  const { job, source } = context;
  const { earlier, unseen } = await countUnseen(db.sql, source.id, job.id);
  if (2 * unseen <= earlier || (await hasPendingDeletions(db.sql, context))) return false;
  await setPendingDeletions(db.sql, job.id, unseen);
  logger.warn({ job: job.id, documents: earlier, missing: unseen }, 'deletion of most documents left to the next sync');
  return true;
}

/** Deletes the documents of items that were not listed. */
async function deleteUnseen(deps: IngestDeps, context: JobContext): Promise<void> {
  const { job, source, base } = context;
  for (;;) {
    const unseen = await selectUnseen(deps.db.sql, source.id, job.id, DOCUMENTS_PER_DELETION);
    if (unseen.length === 0) return;
    const ids = unseen.map(({ id }) => id);
    await deps.db.sql.transaction(async (sql) => {
      if (!(await lockRun(sql, context))) throw new SourceDeletedError();
      await deleteDocumentRows(sql, ids);
      await incrementCounts(sql, { baseId: base.id, sourceId: source.id }, negativeCounts(unseen));
      await incrementJobCounts(sql, job.id, { documentsDeleted: ids.length });
    });
    await deps.chunks.remove(base.id, ids);
  }
}

function negativeCounts(deleted: readonly DocumentRow[]): { documents: number; chunks: number } {
  return {
    documents: -deleted.filter(({ status }) => status === 'completed').length,
    chunks: -deleted.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
  };
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
