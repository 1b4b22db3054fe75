import { deleteFileUses } from '../../files/store.ts';
import { admit } from '../../inference/admission.ts';
import { type Call, SCOPES } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { SourceItem } from '../data-sources/connectors/connector.ts';
import type { DocumentMetadata } from '../documents/metadata.ts';
import { flattenMetadata } from '../extract/flatten-metadata.ts';
import { IngestionError, jobErrorOf } from '../jobs/job-error.ts';
import { FilterKeys } from './filter-keys.ts';
import type { IngestDeps } from './ingest-deps.ts';
import { checkIsThere } from './process-item.ts';
import { type ProcessItemsContext, processItems } from './process-items.ts';
import { countStaleChunks, reEmbedChunks } from './re-embed.ts';
import { isContentUnchanged, updateItemMetadata } from './update-metadata.ts';
import {
  addToCounts,
  addToJob,
  beginRun,
  type DocumentRow,
  deleteDocumentRows,
  endJob,
  type ItemState,
  type JobContext,
  lockSource,
  markSeen,
  selectItemStates,
  selectJobContext,
  selectUnseen,
  takeBackAttempt,
} from './worker-store.ts';
import { SourceGone } from './write-documents.ts';

/** What a job works with, item after item. */
type Run = Omit<ProcessItemsContext, 'stored'>;

/** Runs without a finished document that a job gets before it has failed: one that took the process with it counts as one too. */
const MAX_ATTEMPTS = 5;
/** Items that are compared with what is stored in one go. */
const LISTED_AT_ONCE = 200;
/** Documents that are removed in one go. */
const REMOVED_AT_ONCE = 500;

/**
 * Reads a data source into its knowledge base: what is new or changed since the last time is fetched, extracted, chunked, embedded and
 * indexed; where only metadata has changed, chunks and vectors stay; what is gone is removed. One document that fails harms no other; the job fails when its source cannot be listed. May be run
 * again at any time: what a run has finished stays finished.
 */
export async function ingestSource(deps: IngestDeps, jobId: string, signal: AbortSignal): Promise<void> {
  const context = await begin(deps, jobId);
  if (context === null) return;
  if (context.job.attempts >= MAX_ATTEMPTS) return end(deps, context, jobErrorOf(brokenOff()));
  try {
    await run(deps, context, signal);
    await end(deps, context, null);
  } catch (error) {
    const now = await selectJobContext(deps.db.sql, jobId);
    // What was deleted has taken its job with it.
    if (error instanceof SourceGone || now === null) return;
    if (signal.aborted) {
      await takeBackAttempt(deps.db.sql, jobId);
      throw error;
    }
    const jobError = jobErrorOf(error);
    if (jobError.retryable && now.job.attempts < MAX_ATTEMPTS) throw error;
    deps.logger.warn(
      { job: jobId, code: jobError.code, reason: describeError(error) },
      'a data source could not be ingested',
    );
    await end(deps, context, jobError);
  }
}

function brokenOff() {
  const message = `The process was ended ${MAX_ATTEMPTS} times while it read the same documents of this source.`;
  return new IngestionError('server_error', message);
}

/** Begins a run; null where there is nothing to run. What is changed of the source from here on is for the next job. */
async function begin(deps: IngestDeps, jobId: string): Promise<JobContext | null> {
  const found = await selectJobContext(deps.db.sql, jobId);
  if (found === null) return null;
  return deps.db.sql.transaction(async (sql) => {
    await lockSource(sql, found.base.id, found.source.id);
    const context = await selectJobContext(sql, jobId);
    if (context === null || context.job.status === 'completed' || context.job.status === 'failed') return null;
    await beginRun(sql, context, new Date(deps.now()));
    return context;
  });
}

async function end(deps: IngestDeps, context: JobContext, error: ReturnType<typeof jobErrorOf> | null): Promise<void> {
  await deps.db.sql.transaction(async (sql) => {
    await lockSource(sql, context.base.id, context.source.id);
    await endJob(sql, context, { error, at: new Date(deps.now()) });
    await deleteFileUses(sql, context.job.id);
  });
}

/** Does what the job is for. What is stored under another embedding model is embedded again by every job. */
async function run(deps: IngestDeps, context: JobContext, signal: AbortSignal): Promise<void> {
  const { job, base } = context;
  const caller = { organizationId: job.organizationId, keyId: job.keyId, scopes: new Set(SCOPES), models: null };
  const call: Call = { caller, requestId: newId('request'), endpoint: 'ingestion', priority: 'batch' };
  if (job.kind === 'sync') await readSource(deps, { ...context, call }, signal);
  else await addToJob(deps.db.sql, job.id, { documentsScanned: await countStaleChunks(deps, { ...context, call }) });
  const embedded = await reEmbedChunks(deps, { ...context, call }, signal);
  // An approximate index of another model's vectors would look for these in the wrong places.
  if (embedded > 0 || job.kind === 'embed') await deps.chunks.rebuild(base.id);
  else await deps.chunks.upkeep(base.id);
}

async function readSource(deps: IngestDeps, context: JobContext & { call: Call }, signal: AbortSignal): Promise<void> {
  const { job, source, base } = context;
  const { connector, config } = deps.connectorOf(source);
  const run: Run = {
    ...context,
    deps,
    filterKeys: new FilterKeys(deps.db, base.id),
    admit: () => admit(deps, context.call, { kind: 'embedding', model: base.embeddingModel }),
    metadata: metadataOf(config),
    fetch: (wanted) => connector.fetch({ ...deps, organizationId: job.organizationId }, config, wanted, signal),
    signal,
  };
  const listed = connector.list({ ...deps, organizationId: job.organizationId }, config, signal);
  for await (const items of inGroups(listed, LISTED_AT_ONCE)) {
    signal.throwIfAborted();
    await readItems(run, items);
  }
  await removeUnseen(deps, context);
}

/** Every type of source may say what holds of all its documents. */
function metadataOf(config: unknown): DocumentMetadata {
  const { metadata } = Object(config) as { metadata?: Record<string, unknown> };
  return flattenMetadata(metadata);
}

/** Ingests those of the items that are new or changed, several at once. Of those whose content is the same, only the metadata. */
async function readItems(context: Run, items: readonly SourceItem[]): Promise<void> {
  const { deps, job, source } = context;
  const keys = items.map(({ key }) => key);
  const states = await selectItemStates(deps.db.sql, source.id, keys);
  const stored = new Map(states.map((state) => [state.itemKey, state]));
  const isChanged = (item: SourceItem) => !isCurrent(stored.get(item.key), item, job.id);
  const kept = new Set(items.filter((item) => isChanged(item) && isContentUnchanged(stored.get(item.key), item)));
  const read = items.filter((item) => isChanged(item) && !kept.has(item));
  const skipped = items.filter((item) => !isChanged(item) && stored.get(item.key)?.seenBy !== job.id);
  // How many documents a new item is, only reading it tells.
  const documentsOf = (some: readonly SourceItem[]) =>
    some.reduce((sum, { key }) => sum + (stored.get(key)?.documents ?? 1), 0);
  await deps.db.sql.transaction(async (sql) => {
    await markSeen(
      sql,
      source.id,
      skipped.map(({ key }) => key),
      job.id,
    );
    await addToJob(sql, job.id, {
      documentsScanned: documentsOf(items),
      documentsSkipped: documentsOf(skipped),
    });
  });
  const counts = new Map(states.map(({ itemKey, documents }) => [itemKey, documents]));
  await updateItemMetadata(context, [...kept]);
  await processItems({ ...context, stored: counts }, read);
  await checkIsThere(context);
  await deps.chunks.upkeep(context.base.id, true);
}

/** Whether what is stored of an item is what it is now. What failed is tried again, but not twice by one job. */
function isCurrent(stored: ItemState | undefined, { fingerprint }: SourceItem, jobId: string): boolean {
  if (stored === undefined || stored.fingerprints.some((one) => one !== fingerprint)) return false;
  return !stored.hasFailed || stored.seenBy === jobId;
}

/** Removes the documents of items that the source does not have any more. */
async function removeUnseen(deps: IngestDeps, { job, source, base }: JobContext): Promise<void> {
  for (;;) {
    const unseen = await selectUnseen(deps.db.sql, source.id, job.id, REMOVED_AT_ONCE);
    if (unseen.length === 0) return;
    const ids = unseen.map(({ id }) => id);
    await deps.db.sql.transaction(async (sql) => {
      if (!(await lockSource(sql, base.id, source.id))) throw new SourceGone();
      await deleteDocumentRows(sql, ids);
      await addToCounts(sql, { baseId: base.id, sourceId: source.id }, negative(unseen));
      await addToJob(sql, job.id, { documentsDeleted: ids.length });
    });
    await deps.chunks.remove(base.id, ids);
  }
}

/** What the numbers lose with the documents. */
function negative(removed: readonly DocumentRow[]): { documents: number; chunks: number } {
  return {
    documents: -removed.filter(({ status }) => status === 'completed').length,
    chunks: -removed.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
  };
}

async function* inGroups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
