import { openAsBlob } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from '../lib/start-error.ts';
import { type ApiClient, apiClient } from './api-client.ts';
import type { CommandSpec } from './commands.ts';
import { findBaseOrNull } from './knowledge-base.ts';
import { JSON_OPTION, print } from './output.ts';
import { StatusLine } from './status-line.ts';

/** What can be uploaded. */
const FORMATS: ReadonlySet<string> = new Set(['.jsonl', '.pdf', '.txt', '.md', '.csv', '.docx', '.html']);
/** How often a running job is asked how far it is. */
const POLL_MS = 500;

interface Job {
  id: string;
  status: 'queued' | 'processing' | 'completed' | 'failed';
  documents_processed: number;
  documents_failed: number;
  chunks_created: number;
  error: { message: string } | null;
  document_details?: { document_name: string; status: string; error: { message: string } | null }[];
}

/** `quire ingest`. */
export const ingest: CommandSpec = {
  summary:
    'Upload the documents of a folder, or one document, into a knowledge base, which is made when it is not there. QUIRE_URL and QUIRE_API_KEY say where and who.',
  words: ['folder'],
  options: {
    kb: { type: 'text', help: 'Name or id of the knowledge base.', required: true },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const paths = await documentsIn(input.words[0] ?? '');
    const api = apiClient();
    const line = new StatusLine(process.stderr);
    const name = input.options['kb'] ?? '';
    const base =
      (await findBaseOrNull(api, name)) ?? (await api.json<{ id: string }>('POST', '/v1/knowledge-bases', { name }));
    const fileIds = await upload(api, paths, line);
    const source = await api.json<{ id: string }>('POST', `/v1/knowledge-bases/${base.id}/data-sources`, {
      type: 'file_upload',
      name: basename(input.words[0] ?? ''),
      config: { file_ids: fileIds },
    });
    const job = await untilEnded(api, base.id, { sourceId: source.id, total: paths.length, line });
    line.end();
    print(input, { knowledge_base_id: base.id, data_source_id: source.id, job }, () => summaryOf(job, name));
    if (job.status === 'failed') throw new StartError(job.error?.message ?? 'The documents could not be ingested.');
  },
};

async function documentsIn(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => null);
  if (found === null) throw new StartError(`There is no file or folder at ${path}.`);
  if (found.isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && FORMATS.has(extname(entry.name).toLowerCase()))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (paths.length === 0) throw new StartError(`${path} holds no documents: ${[...FORMATS].join(', ')}.`);
  return paths;
}

async function upload(api: ApiClient, paths: readonly string[], line: StatusLine): Promise<string[]> {
  const ids: string[] = [];
  for (const path of paths) {
    line.show('uploading', { done: ids.length, total: paths.length });
    const form = new FormData();
    form.append('purpose', 'knowledge-base');
    form.append('file', await openAsBlob(path), basename(path));
    ids.push((await api.json<{ id: string }>('POST', '/v1/files', form)).id);
  }
  line.show('uploading', { done: ids.length, total: paths.length });
  line.end();
  return ids;
}

async function untilEnded(
  api: ApiClient,
  baseId: string,
  { sourceId, total, line }: { sourceId: string; total: number; line: StatusLine },
): Promise<Job> {
  const jobs = `/v1/knowledge-bases/${baseId}/ingestion-jobs`;
  const jobId = await jobOf(api, jobs, sourceId);
  for (;;) {
    const job = await api.json<Job>('GET', `${jobs}/${jobId}`);
    const { documents_processed, documents_failed, chunks_created } = job;
    const failed = documents_failed > 0 ? `, ${documents_failed} failed` : '';
    line.show(`ingesting  ${chunks_created} chunks${failed}`, { done: documents_processed + documents_failed, total });
    if (job.status === 'completed' || job.status === 'failed') return job;
    await pause(POLL_MS);
  }
}

async function jobOf(api: ApiClient, jobs: string, sourceId: string): Promise<string> {
  for await (const job of api.list<{ id: string; data_source_id: string }>(jobs)) {
    if (job.data_source_id === sourceId) return job.id;
  }
  throw new StartError('The service has no ingestion job for what was uploaded.');
}

function summaryOf(job: Job, name: string): string {
  const failures = (job.document_details ?? []).filter(({ status }) => status === 'failed');
  return [
    `${job.documents_processed} documents, ${job.chunks_created} chunks in '${name}'.`,
    ...failures.map(({ document_name, error }) => `  failed: ${document_name}: ${error?.message ?? 'unknown'}`),
    ...(job.documents_processed > 0 ? [`Ask it: npm run -s quire -- ask "..." --kb '${name}'`] : []),
  ].join('\n');
}
