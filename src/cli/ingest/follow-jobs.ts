import { setTimeout as pause } from 'node:timers/promises';
import type { DetailedJob } from '../../knowledge-bases/jobs/schema.ts';
import type { ApiClient } from '../api-client.ts';
import { Interrupted } from '../interrupted.ts';
import { formatCount } from '../output.ts';
import type { StatusLine } from '../status-line.ts';
import type { IngestFailure } from './find-documents.ts';
import type { StartedJob } from './source-writer.ts';

/** Polling interval of running jobs. */
const POLL_MS = 500;

/** Shows the progress of jobs until all have ended. Throws `Interrupted` when the signal aborts; the jobs continue. */
export async function followJobs(
  api: ApiClient,
  { baseId, started, line }: { baseId: string; started: readonly StartedJob[]; line: StatusLine },
  signal: AbortSignal,
): Promise<DetailedJob[]> {
  const jobs = `/v1/knowledge-bases/${baseId}/ingestion-jobs`;
  const ended = new Map<string, DetailedJob>();
  const fetchJob = (jobId: string) => api.json<DetailedJob>('GET', `${jobs}/${jobId}?details_status=failed`);
  for (;;) {
    const current: DetailedJob[] = [];
    for (const { jobId } of started) current.push(ended.get(jobId) ?? (await fetchJob(jobId)));
    for (const job of current) if (job.status === 'completed' || job.status === 'failed') ended.set(job.id, job);
    show(line, started, current);
    if (current.every(({ id }) => ended.has(id))) return current;
    await pause(POLL_MS, undefined, { signal }).catch(() => {
      line.end();
      const running = started.find(({ jobId }) => !ended.has(jobId))?.jobId;
      throw new Interrupted(
        `Stopped waiting. The service continues to ingest the uploaded documents. Run the command again to wait for them, or see GET ${api.url}${jobs}/${running}.`,
      );
    });
  }
}

function show(line: StatusLine, started: readonly StartedJob[], jobs: readonly DetailedJob[]): void {
  const sum = (count: (job: DetailedJob, at: number) => number) =>
    jobs.reduce((total, job, at) => total + count(job, at), 0);
  const finishedDocuments = ({ documents_processed, documents_failed }: DetailedJob) =>
    documents_processed + documents_failed;
  const total = sum((job, at) => {
    const { expected, files } = started[at] as StartedJob;
    // A sync without changes has no documents to process.
    return Math.max(
      finishedDocuments(job),
      expected ?? (finishedDocuments(job) === 0 ? 0 : files - job.documents_skipped),
    );
  });
  if (total === 0) return;
  const failed = sum((job) => job.documents_failed);
  const isWaiting = jobs.every(({ status }) => status === 'queued');
  const counts = `${formatCount(
    sum((job) => job.chunks_created),
    'chunk',
  )}${failed > 0 ? `, ${failed} failed` : ''}`;
  const reading = jobs.flatMap((job) => job.reading);
  const pages = reading.map(({ document, page, pages }) => `  ${document}: page ${page} of ${pages}`).join('');
  line.show(isWaiting ? 'queued' : `ingesting  ${counts}${pages}`, { done: sum(finishedDocuments), total });
}

/** Fetches the warnings of ingested documents: the first 1,000 documents of each job. */
export async function fetchWarnings(
  api: ApiClient,
  baseId: string,
  jobs: readonly DetailedJob[],
): Promise<IngestFailure[]> {
  const warnings: IngestFailure[] = [];
  for (const { id } of jobs) {
    const path = `/v1/knowledge-bases/${baseId}/ingestion-jobs/${id}?details_status=completed&details_with_warnings=true`;
    for (const detail of (await api.json<DetailedJob>('GET', path)).document_details) {
      warnings.push(...detail.warnings.map(({ message }) => ({ name: detail.document_name, message })));
    }
  }
  return warnings;
}

/** Lists failed documents, and jobs that failed as a whole. */
export function collectFailures(jobs: readonly DetailedJob[]): IngestFailure[] {
  return jobs.flatMap(({ status, error, data_source_id, document_details }) => [
    ...(status === 'failed' ? [{ name: data_source_id, message: error?.message ?? 'It could not be read.' }] : []),
    ...document_details.map((detail) => ({
      name: detail.document_name,
      message: detail.error?.message ?? 'It could not be read.',
    })),
  ]);
}
