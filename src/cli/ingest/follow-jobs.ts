import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from '../api-client.ts';
import { Interrupted } from '../interrupted.ts';
import { counted } from '../output.ts';
import type { StatusLine } from '../status-line.ts';
import type { Failure } from './find-documents.ts';
import type { StartedJob } from './source-writer.ts';

/** How often running jobs are asked how far they are. */
const POLL_MS = 500;

/** The fields of a job that are read here, and printed. */
export interface Job {
  id: string;
  data_source_id: string;
  status: 'queued' | 'processing' | 'completed' | 'failed';
  documents_processed: number;
  documents_failed: number;
  documents_skipped: number;
  chunks_created: number;
  error: { message: string } | null;
  document_details: { document_name: string; error: { message: string } | null; warnings: { message: string }[] }[];
}

/** Shows how far the jobs are until the last has ended. Throws `Interrupted` when the signal is aborted: they go on. */
export async function followJobs(
  api: ApiClient,
  { baseId, started, line }: { baseId: string; started: readonly StartedJob[]; line: StatusLine },
  signal: AbortSignal,
): Promise<Job[]> {
  const jobs = `/v1/knowledge-bases/${baseId}/ingestion-jobs`;
  const ended = new Map<string, Job>();
  const ask = (jobId: string) => api.json<Job>('GET', `${jobs}/${jobId}?details_status=failed`);
  for (;;) {
    const now: Job[] = [];
    for (const { jobId } of started) now.push(ended.get(jobId) ?? (await ask(jobId)));
    for (const job of now) if (job.status === 'completed' || job.status === 'failed') ended.set(job.id, job);
    show(line, started, now);
    if (now.every(({ id }) => ended.has(id))) return now;
    await pause(POLL_MS, undefined, { signal }).catch(() => {
      line.end();
      const running = started.find(({ jobId }) => !ended.has(jobId))?.jobId;
      throw new Interrupted(
        `Stopped waiting: the service goes on with what was uploaded. The same command again waits for it, and GET ${api.url}${jobs}/${running} shows how far it is.`,
      );
    });
  }
}

function show(line: StatusLine, started: readonly StartedJob[], jobs: readonly Job[]): void {
  const sum = (count: (job: Job, at: number) => number) => jobs.reduce((total, job, at) => total + count(job, at), 0);
  const doneOf = ({ documents_processed, documents_failed }: Job) => documents_processed + documents_failed;
  const total = sum((job, at) => {
    const { expected, files } = started[at] as StartedJob;
    // A sync of what has not changed has nothing to show.
    return Math.max(doneOf(job), expected ?? (doneOf(job) === 0 ? 0 : files - job.documents_skipped));
  });
  if (total === 0) return;
  const failed = sum((job) => job.documents_failed);
  const isWaiting = jobs.every(({ status }) => status === 'queued');
  const what = `${counted(
    sum((job) => job.chunks_created),
    'chunk',
  )}${failed > 0 ? `, ${failed} failed` : ''}`;
  line.show(isWaiting ? 'waiting for its turn' : `ingesting  ${what}`, { done: sum(doneOf), total });
}

/** Warnings of the documents that the jobs have ingested, the first thousand of each job. */
export async function warningsOf(api: ApiClient, baseId: string, jobs: readonly Job[]): Promise<Failure[]> {
  const warned: Failure[] = [];
  for (const { id } of jobs) {
    const path = `/v1/knowledge-bases/${baseId}/ingestion-jobs/${id}?details_status=completed&details_with_warnings=true`;
    for (const { document_name: name, warnings } of (await api.json<Job>('GET', path)).document_details) {
      warned.push(...warnings.map(({ message }) => ({ name, message })));
    }
  }
  return warned;
}

/** What the jobs could not ingest: themselves, where their source could not be read, and documents. */
export function failuresOf(jobs: readonly Job[]): Failure[] {
  return jobs.flatMap(({ status, error, data_source_id, document_details }) => [
    ...(status === 'failed' ? [{ name: data_source_id, message: error?.message ?? 'It could not be read.' }] : []),
    ...document_details.map((detail) => ({
      name: detail.document_name,
      message: detail.error?.message ?? 'It could not be read.',
    })),
  ]);
}
