import { deliverAlert } from './alerts/delivery/deliver-alert.ts';
import { DELIVER_ALERT } from './alerts/delivery/queue-deliveries.ts';
import { type AlertEvaluationDeps, createAlertEvaluation, pruneAlerts } from './alerts/evaluate-alerts.ts';
import { pruneAuditEvents } from './audit/prune-events.ts';
import type { Backups } from './backup/backups.ts';
import { RUN_BATCH, RUN_RANGE } from './batches/batch-job.ts';
import { type BatchWorkerDeps, createBatchWorker } from './batches/batch-worker.ts';
import { rollUpUsage } from './billing/roll-up-usage.ts';
import { queueTitle, TITLE_CHAT, titleChat } from './chats/title-chat.ts';
import { RUN_EVALUATION } from './evaluations/evaluation-job.ts';
import { runDueSets } from './evaluations/run-due-sets.ts';
import { type EvaluationWorkerDeps, runEvaluation } from './evaluations/run-evaluation.ts';
import { CHECK_FILE } from './files/check-job.ts';
import { deleteExpiredFiles } from './files/delete-file.ts';
import { deleteOrphanedBlobs } from './files/orphaned-blobs.ts';
import { pruneBlocks } from './guardrails/blocks.ts';
import { pruneIdempotencyKeys } from './http/idempotency/idempotency.ts';
import { deleteArchive, importSource } from './knowledge-bases/archive/import-source.ts';
import { syncDueSources } from './knowledge-bases/data-sources/sync-due-sources.ts';
import { purgeTombstones } from './knowledge-bases/documents/tombstones.ts';
import { dropIndexTables } from './knowledge-bases/drop-index-tables.ts';
import { checkIndexes } from './knowledge-bases/index-integrity/check-index.ts';
import { repairIndexes } from './knowledge-bases/index-integrity/repair-indexes.ts';
import {
  type IngestionWorker,
  type IngestionWorkerDeps,
  startIngestion,
} from './knowledge-bases/ingestion/ingestion-worker.ts';
import { queueReEmbedding } from './knowledge-bases/ingestion/queue-re-embedding.ts';
import { INGEST_SOURCE } from './knowledge-bases/jobs/ingest-job.ts';
import type { JobKindName } from './lib/parse-jobs.ts';
import { runPeriodically } from './lib/run-periodically.ts';
import type { TraceHeaders } from './lib/trace-headers.ts';
import { type JobKind, resizeSlots } from './queue/define-job.ts';
import type { JobHandler, JobQueue } from './queue/job-queue.ts';
import { maintainRequestLog } from './requests/maintain-request-log.ts';
import { purgeResponses } from './responses/purge-responses.ts';
import { type BackgroundDeps, RUN_RESPONSE, runBackground } from './responses/run-background.ts';
import { purgeChats } from './retention/purge-chats.ts';
import { purgeExpiredDocuments } from './retention/purge-expired-documents.ts';
import { type PurgeDeps, purgeOrganizations } from './retention/purge-organizations.ts';
import { pruneSessions } from './users/sessions/prune-sessions.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Interval of the check for knowledge bases whose embedding model has been rebound. */
const RE_EMBED_CHECK_MS = 15_000;

/** Interval of the check of all search indexes, besides that at start. A search that finds damage triggers one too. */
const INDEX_CHECK_MS = 24 * HOUR_MS;
/** Short, because searches are rejected during a repair. */
const INDEX_REPAIR_MS = 5_000;

/** Listing a small folder. A segment of WAL is archived within this time after it is complete. */
const ARCHIVE_MS = 2_000;

/** Interval of the check whether a base backup is due: a comparison of times. */
const BACKUP_CHECK_MS = 10_000;

/** Interval of the alert evaluation, which reads a few rows and probes each upstream server. */
const ALERTS_MS = 30_000;

/** Data of a deleted organization is deleted within this time. */
const PURGE_MS = 5_000;

/** Dependencies of the background work. */
export type WorkerDeps = IngestionWorkerDeps &
  BatchWorkerDeps &
  BackgroundDeps &
  EvaluationWorkerDeps &
  PurgeDeps &
  AlertEvaluationDeps & { backups: Backups | null };

/** Creates the queues of all jobs. A process that only enqueues jobs needs them, too. */
export function defineJobs(queue: Pick<JobQueue, 'define'>): Promise<void> {
  const responses = [RUN_RESPONSE, TITLE_CHAT];
  return queue.define([INGEST_SOURCE, CHECK_FILE, RUN_BATCH, RUN_RANGE, ...responses, RUN_EVALUATION, DELIVER_ALERT]);
}

/** Declares the jobs that this process takes from the queue. */
function declareJobs(deps: WorkerDeps, ingestion: IngestionWorker): Job[] {
  const batches = createBatchWorker(deps, deps.config.batchConcurrency);
  return [
    job('ingestion', INGEST_SOURCE, ingestion.run),
    job('ingestion', CHECK_FILE, ingestion.checkFile),
    job('batch', RUN_BATCH, batches.runBatch),
    { ...job('batch', RUN_RANGE, batches.runRange), busyGroups: batches.busyOrganizations },
    job('response', RUN_RESPONSE, ({ responseId }, signal) =>
      runBackground(deps, responseId, signal, (ended) => queueTitle(deps, ended)),
    ),
    job('response', TITLE_CHAT, (data, signal) => titleChat(deps, data, signal)),
    job('evaluation', RUN_EVALUATION, ({ evaluationId }, signal) => runEvaluation(deps, evaluationId, signal)),
    job(null, DELIVER_ALERT, ({ deliveryId }, signal) => deliverAlert(deps, deliveryId, signal)),
  ];
}

/** Declares the tasks that run periodically in every process. */
function declareTasks(deps: WorkerDeps, signal: AbortSignal): Task[] {
  const startedAt = deps.now();
  return [
    { name: 'prune idempotency keys', everyMs: HOUR_MS, run: () => pruneIdempotencyKeys(deps) },
    { name: 'roll up usage', everyMs: HOUR_MS, run: () => rollUpUsage(deps) },
    { name: 'maintain the request log', everyMs: HOUR_MS, run: () => maintainRequestLog(deps) },
    { name: 'prune audit events', everyMs: HOUR_MS, run: () => pruneAuditEvents(deps) },
    { name: 'prune guardrail blocks', everyMs: HOUR_MS, run: () => pruneBlocks(deps) },
    { name: 'prune sessions', everyMs: HOUR_MS, run: () => pruneSessions(deps) },
    { name: 'purge responses', everyMs: HOUR_MS, run: () => purgeResponses(deps) },
    { name: 'purge deleted organizations', everyMs: PURGE_MS, run: () => purgeOrganizations(deps, signal) },
    { name: 'delete chats', everyMs: MINUTE_MS, run: () => purgeChats(deps, signal) },
    { name: 'delete expired documents', everyMs: MINUTE_MS, run: () => purgeExpiredDocuments(deps, signal) },
    { name: 'delete expired files', everyMs: MINUTE_MS, run: () => deleteExpiredFiles(deps, signal) },
    { name: 'delete orphaned blobs', everyMs: HOUR_MS, run: () => deleteOrphanedBlobs(deps, startedAt) },
    { name: 'drop index tables', everyMs: HOUR_MS, run: () => dropIndexTables(deps) },
    { name: 'delete tombstoned documents', everyMs: HOUR_MS, run: () => purgeTombstones(deps) },
    { name: 'check search indexes', everyMs: INDEX_CHECK_MS, run: () => checkIndexes(deps, signal) },
    { name: 'repair search indexes', everyMs: INDEX_REPAIR_MS, run: () => repair(deps) },
    { name: 'sync scheduled data sources', everyMs: MINUTE_MS, run: () => syncDueSources(deps) },
    { name: 'run scheduled evaluations', everyMs: MINUTE_MS, run: () => runDueSets(deps) },
    ...declareBackupTasks(deps.backups, signal),
    { name: 'evaluate alerts', everyMs: ALERTS_MS, run: createAlertEvaluation(deps) },
    { name: 'prune alerts', everyMs: HOUR_MS, run: () => pruneAlerts(deps) },
    { name: 're-embed knowledge bases', everyMs: RE_EMBED_CHECK_MS, run: () => queueReEmbedding(deps) },
  ];
}

function declareBackupTasks(backups: Backups | null, signal: AbortSignal): Task[] {
  if (backups === null) return [];
  return [
    { name: 'archive WAL', everyMs: ARCHIVE_MS, run: () => backups.archive(signal) },
    { name: 'limit pending WAL', everyMs: ARCHIVE_MS, run: () => backups.archiver.limitPending() },
    { name: 'scheduled backup', everyMs: BACKUP_CHECK_MS, run: () => backups.createIfDue(signal) },
  ];
}

/** Does not leave the jobs of a repair to the check for changed models, which runs less often. */
async function repair(deps: WorkerDeps): Promise<void> {
  if (await repairIndexes(deps)) await queueReEmbedding(deps);
}

/** Background work of this process. */
export interface Worker {
  /** Resolves when running jobs and tasks have ended. */
  stop(): Promise<void>;
}

/** Starts the jobs and tasks. */
export async function startWorker(deps: WorkerDeps, telemetry: JobTracer | null): Promise<Worker> {
  const ingestion = startIngestion(deps, { importSource, deleteArchive });
  const jobs = declareJobs(deps, ingestion);
  await defineJobs(deps.jobs);
  for (const { setting, kind, handler, busyGroups } of jobs) {
    const isFixed = deps.config.jobs === null || setting === null;
    const count = isFixed ? kind.concurrency : (deps.config.jobs?.get(setting) ?? 0);
    // Where `busyGroups` decides, the number in `QUIRE_JOBS` only switches the kind on.
    const slots = isFixed || busyGroups !== undefined ? kind : resizeSlots(kind, count);
    if (count > 0) deps.jobs.work(slots, telemetry === null ? handler : traced(telemetry, kind, handler), busyGroups);
  }
  const stopping = new AbortController();
  const tasks = declareTasks(deps, stopping.signal).map(({ name, everyMs, run }) =>
    runPeriodically(everyMs, name, run, deps.logger),
  );
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(tasks.map((task) => task.stop()));
      await deps.jobs.stop();
      await ingestion.stop();
    },
  };
}

/** A job kind with its handler and its name in `QUIRE_JOBS`, or null if every worker runs it. */
interface Job {
  setting: JobKindName | null;
  kind: JobKind<object>;
  handler: JobHandler<object>;
  /** Groups whose jobs this process does not take now. */
  busyGroups?: () => string[];
}

/** Traces a run of a job. */
interface JobTracer {
  traceJob(name: string, headers: TraceHeaders, run: () => Promise<void>): Promise<void>;
}

interface Task {
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

function job<Data extends object>(setting: Job['setting'], kind: JobKind<Data>, handler: JobHandler<Data>): Job {
  // Only jobs of this kind reach the handler.
  return { setting, kind, handler: handler as JobHandler<object> };
}

function traced(telemetry: JobTracer, kind: JobKind<object>, handler: JobHandler<object>): JobHandler<object> {
  // The queue stores the trace context among the data.
  return (data, signal) => telemetry.traceJob(kind.name, data as TraceHeaders, () => handler(data, signal));
}
