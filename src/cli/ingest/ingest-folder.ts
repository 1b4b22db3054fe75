import type { DetailedJob } from '../../knowledge-bases/jobs/schema.ts';
import type { ApiClient } from '../api-client.ts';
import { findKnowledgeBaseByName } from '../knowledge-base.ts';
import { formatCount } from '../output.ts';
import type { StatusLine } from '../status-line.ts';
import { deleteFiles } from './delete-files.ts';
import { diffFolder, type FolderDiff } from './diff-folder.ts';
import { type FoundDocuments, findDocuments, type IngestFailure, type SkipKind } from './find-documents.ts';
import { collectFailures, fetchWarnings, followJobs } from './follow-jobs.ts';
import { loadSources } from './load-sources.ts';
import { planSources } from './plan-sources.ts';
import { SourceWriter, type StartedJob, type TargetKnowledgeBase } from './source-writer.ts';
import { Uploader } from './uploader.ts';

/** Parameters of an ingestion. */
export interface IngestRequest {
  /** A folder or a document. */
  path: string;
  /** Name or id of the knowledge base. */
  base: string;
  /** Name of the data source; null for the path of the folder. */
  source: string | null;
  /** Whether it follows an ingestion of the same command: names what has changed, not what is skipped. */
  isUpdate?: boolean;
}

/** Result of an ingestion; the JSON output of `quire ingest`. */
export interface IngestResult {
  /** Null when no document was ingested and the knowledge base did not exist. */
  knowledge_base: { id: string; name: string; document_count: number; chunk_count: number } | null;
  data_sources: { id: string; job: DetailedJob }[];
  files: { new: number; changed: number; gone: number; unchanged: number; skipped: number };
  failed: IngestFailure[];
  /** Number of failed documents. `failed` lists at most 1,000 of each job. */
  failed_count: number;
  /** Warnings of ingested documents, such as pages without text. */
  warned: IngestFailure[];
}

/** Maximum length of a data source's name, in characters. */
const MAX_SOURCE_NAME = 256;
/** Shorter comparisons show no progress. */
const COMPARISON_DISPLAY_DELAY_MS = 1_000;
/** Maximum number of skipped names that are listed. */
const MAX_LISTED_NAMES = 5;
const SKIPPED: Readonly<Record<SkipKind, [singular: string, plural: string]>> = {
  format: ['file of another format', 'files of other formats'],
  link: ['symbolic link', 'symbolic links'],
  hidden: ['hidden file or folder', 'hidden files and folders'],
};

/**
 * Synchronizes a data source with a folder: uploads new and changed documents, removes deleted ones, and waits for the
 * ingestion jobs. A document that fails does not affect the others. Throws `Interrupted` when the signal aborts.
 */
export async function ingestFolder(
  api: ApiClient,
  request: IngestRequest,
  line: StatusLine,
  signal: AbortSignal,
): Promise<IngestResult> {
  const documents = await findDocuments(request.path);
  const name = request.source ?? defaultSourceName(documents.root);
  const base: TargetKnowledgeBase = (await findKnowledgeBaseByName(api, request.base)) ?? {
    id: null,
    name: request.base,
  };
  if (!request.isUpdate) printSkipped(line, documents);
  const sources = base.id === null ? [] : await loadSources(api, base.id, name);
  const diff = await diffWithProgress(
    documents,
    sources.flatMap(({ files }) => files),
    line,
    signal,
  );
  if (sources.length > 0) line.printLine(`${documents.root}: ${describeChanges(diff)}.`);
  if (request.isUpdate) printChanges(line, diff);
  const uploader = new Uploader(api, line, diff.uploads.length);
  const writer = new SourceWriter(api, base, name);
  const started: StartedJob[] = [];
  let jobs: DetailedJob[] = [];
  try {
    for (const plan of planSources(diff, sources)) {
      const sent = await uploader.upload(
        plan.uploads.map(({ document }) => document),
        signal,
      );
      const uploaded = plan.uploads.map(({ document }) => sent.get(document) ?? null);
      const job = await writer.write({ plan, uploaded });
      if (job !== null) started.push(job);
    }
    line.end();
    if (base.id !== null) jobs = await followJobs(api, { baseId: base.id, started, line }, signal);
  } finally {
    line.end();
    const undeleted = await deleteFiles(api, writer.replacedIds);
    if (undeleted > 0)
      line.printLine(
        `${formatCount(undeleted, 'file')} no longer in the folder could not be deleted; see GET /v1/files.`,
      );
  }
  const local = [...documents.failures, ...diff.failures, ...uploader.failures].sort(byName);
  return {
    knowledge_base: base.id === null ? null : await api.json('GET', `/v1/knowledge-bases/${base.id}`),
    data_sources: started.map(({ sourceId }, at) => ({ id: sourceId, job: jobs[at] as DetailedJob })),
    files: { ...countChanges(diff), skipped: Object.values(documents.skipped).flat().length },
    failed: [...local, ...collectFailures(jobs)],
    failed_count: jobs.reduce(
      (sum, job) => sum + Math.max(job.documents_failed, Number(job.status === 'failed')),
      local.length,
    ),
    warned: base.id === null ? [] : await fetchWarnings(api, base.id, jobs),
  };
}

async function diffWithProgress(
  found: FoundDocuments,
  stored: Parameters<typeof diffFolder>[1],
  line: StatusLine,
  signal: AbortSignal,
): Promise<FolderDiff> {
  const total = found.documents.length;
  const startMs = performance.now();
  const diff = await diffFolder(found, stored, signal, (done) => {
    if (performance.now() - startMs > COMPARISON_DISPLAY_DELAY_MS) line.show('comparing', { done, total });
  });
  line.end();
  return diff;
}

/** Uses the whole path: a second folder of the same name would otherwise replace the documents of the first. */
function defaultSourceName(root: string): string {
  return root.length <= MAX_SOURCE_NAME ? root : `...${root.slice(3 - MAX_SOURCE_NAME)}`;
}

function printSkipped(line: StatusLine, { skipped }: FoundDocuments): void {
  for (const [kind, [singular, plural]] of Object.entries(SKIPPED) as [SkipKind, [string, string]][]) {
    const names = skipped[kind];
    if (names.length > 0) printNames(line, `Skipped ${formatCount(names.length, singular, plural)}`, names);
  }
}

function printChanges(line: StatusLine, { uploads, gone }: FolderDiff): void {
  const uploaded = uploads.map(({ document }) => document.name);
  if (uploaded.length > 0) printNames(line, 'New or changed', uploaded);
  if (gone.length > 0) {
    printNames(
      line,
      'Gone',
      gone.map(({ name }) => name),
    );
  }
}

function printNames(line: StatusLine, label: string, names: readonly string[]): void {
  const more = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : '';
  line.printLine(`${label}: ${names.slice(0, MAX_LISTED_NAMES).join(', ')}${more}.`);
}

const byName = (a: IngestFailure, b: IngestFailure): number => (a.name < b.name ? -1 : 1);

function countChanges({ uploads, gone, unchanged }: FolderDiff) {
  const added = uploads.filter(({ replaces }) => replaces === null).length;
  return { new: added, changed: uploads.length - added, gone: gone.length, unchanged: unchanged.length };
}

const describeChanges = (diff: FolderDiff): string =>
  Object.entries(countChanges(diff))
    .map(([what, count]) => `${count.toLocaleString('en-US')} ${what}`)
    .join(', ');
