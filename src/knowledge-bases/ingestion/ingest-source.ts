import { IngestionError } from '../../extraction/ingestion-error.ts';
import { deleteFileUses } from '../../files/store.ts';
import { type Call, serviceCaller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { ImportedArchive } from '../jobs/ingest-job.ts';
import { type JobError, toJobError } from '../jobs/job-error.ts';
import { incrementJobCounts } from '../jobs/store.ts';
import { maintainIndex } from './maintain-index.ts';
import { syncItems } from './pipeline.ts';
import { countStaleChunks, rebuildIndex, reEmbedChunks } from './re-embed.ts';
import { type IngestDeps, lockRun, RunSupersededError, SourceDeletedError, writeInRun } from './run-context.ts';
import { beginRun, endJob, type JobContext, lockSource, selectJobContext, undoAttempt } from './store.ts';
import { isOutage } from './through-outage.ts';

/** Maximum runs of a job without a finished document, including runs that crashed the process. */
const MAX_ATTEMPTS = 5;

/**
 * Runs an ingestion job: lists the items of a data source, ingests new and changed ones, updates documents with
 * changed metadata, and deletes documents of deleted items. A document that fails does not affect others; the job
 * fails when the data source cannot be listed. May be called again: finished documents stay finished, and a call that
 * still runs, in any process, writes nothing more and throws a `RunSupersededError`.
 */
export async function ingestSource(
  deps: IngestDeps,
  jobId: string,
  signal: AbortSignal,
  archive: ImportedArchive | null = null,
): Promise<void> {
  const context = await begin(deps, jobId);
  if (context === null) return maintainEnded(deps, jobId);
  if (context.job.attempts >= MAX_ATTEMPTS) return end(deps, context, toJobError(tooManyCrashes()));
  try {
    await run(deps, { ...context, archive }, signal);
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
    const jobError = toJobError(error);
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
async function run(
  deps: IngestDeps,
  { archive, ...context }: JobContext & { archive: ImportedArchive | null },
  signal: AbortSignal,
): Promise<void> {
  const { job, base } = context;
  const caller = serviceCaller(job.organizationId, job.keyId);
  const call: Call = { caller, requestId: newId('request'), endpoint: 'ingestion', priority: 'batch' };
  if (job.kind === 'sync') await syncItems(deps, { ...context, call }, signal);
  else if (job.kind === 'import') {
    if (archive === null) throw new Error('an import job without an archive');
    await deps.archives?.importSource(deps, { ...context, call }, archive, signal);
  } else {
    const documentsScanned = await countStaleChunks(deps, { ...context, call });
    await writeInRun({ ...context, deps }, (sql) => incrementJobCounts(sql, job.id, { documentsScanned }));
  }
  const embedded = await reEmbedChunks(deps, { ...context, call }, signal);
  if (embedded > 0 || job.kind === 'embed') await rebuildIndex(deps, { ...context, call });
  else await maintainIndex(deps, base.id);
}
