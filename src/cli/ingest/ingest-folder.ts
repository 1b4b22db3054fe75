import type { ApiClient } from '../api-client.ts';
import { findBaseOrNull } from '../knowledge-base.ts';
import { counted } from '../output.ts';
import type { StatusLine } from '../status-line.ts';
import { type Comparison, compareFiles } from './compare-files.ts';
import { type Failure, type FoundDocuments, findDocuments, type SkipKind } from './find-documents.ts';
import { failuresOf, followJobs, type Job, warningsOf } from './follow-jobs.ts';
import { partSources } from './part-sources.ts';
import { removeFiles } from './remove-files.ts';
import { SourceWriter, type StartedJob, type TargetBase } from './source-writer.ts';
import { storedSources } from './stored-sources.ts';
import { Uploader } from './uploader.ts';

/** What is to be ingested, and into which knowledge base. */
export interface IngestCall {
  /** A folder or a document. */
  path: string;
  /** Name or id of the knowledge base. */
  base: string;
  /** Name of the data source; null for the path of the folder. */
  source: string | null;
}

/** What came of it. */
export interface IngestResult {
  /** Null where nothing could be ingested, so that none was made. */
  knowledge_base: { id: string; name: string; document_count: number; chunk_count: number } | null;
  data_sources: { id: string; job: Job }[];
  files: { new: number; changed: number; gone: number; unchanged: number; skipped: number };
  failed: Failure[];
  /** Documents that failed: more than `failed` names where a job has very many. */
  failed_count: number;
  /** Documents that were ingested, and of which text may be missing. */
  warned: Failure[];
}

/** Characters of a data source's name. */
const MAX_SOURCE_NAME = 256;
/** A comparison that is over sooner is not shown. */
const UNSHOWN_MS = 1_000;
/** Names of skipped files that are shown. */
const SHOWN_NAMES = 5;
const SKIPPED: Readonly<Record<SkipKind, [one: string, many: string]>> = {
  format: ['file of another format', 'files of other formats'],
  link: ['symbolic link', 'symbolic links'],
  hidden: ['hidden file or folder', 'hidden files and folders'],
};

/**
 * Brings the data source of a folder to what is in the folder: uploads what is new or changed, takes out what is gone, and waits until the
 * service has read it. One document that fails harms no other. When the signal is aborted, throws `Interrupted` with what became of it.
 */
export async function ingestFolder(
  api: ApiClient,
  call: IngestCall,
  line: StatusLine,
  signal: AbortSignal,
): Promise<IngestResult> {
  const found = await findDocuments(call.path);
  const name = call.source ?? sourceName(found.root);
  const base: TargetBase = (await findBaseOrNull(api, call.base)) ?? { id: null, name: call.base };
  saySkipped(line, found);
  const sources = base.id === null ? [] : await storedSources(api, base.id, name);
  const comparison = await compare(
    found,
    sources.flatMap(({ files }) => files),
    line,
    signal,
  );
  if (sources.length > 0) line.say(`${found.root}: ${changesOf(comparison)}.`);
  const uploader = new Uploader(api, line, comparison.wanted.length);
  const writer = new SourceWriter(api, base, name);
  const started: StartedJob[] = [];
  let jobs: Job[] = [];
  try {
    for (const part of partSources(comparison, sources)) {
      const sent = await uploader.upload(
        part.wanted.map(({ document }) => document),
        signal,
      );
      const uploaded = part.wanted.map(({ document }) => sent.get(document) ?? null);
      const job = await writer.write({ part, uploaded });
      if (job !== null) started.push(job);
    }
    line.end();
    if (base.id !== null) jobs = await followJobs(api, { baseId: base.id, started, line }, signal);
  } finally {
    line.end();
    const left = await removeFiles(api, writer.replaced);
    if (left > 0)
      line.say(`${counted(left, 'file')} that the folder has no more could not be deleted; GET /v1/files names them.`);
  }
  const local = [...found.failures, ...comparison.failures, ...uploader.failures].sort(byName);
  return {
    knowledge_base: base.id === null ? null : await api.json('GET', `/v1/knowledge-bases/${base.id}`),
    data_sources: started.map(({ sourceId }, at) => ({ id: sourceId, job: jobs[at] as Job })),
    files: { ...countsOf(comparison), skipped: Object.values(found.skipped).flat().length },
    failed: [...local, ...failuresOf(jobs)],
    failed_count: jobs.reduce(
      (sum, job) => sum + Math.max(job.documents_failed, Number(job.status === 'failed')),
      local.length,
    ),
    warned: base.id === null ? [] : await warningsOf(api, base.id, jobs),
  };
}

async function compare(
  found: FoundDocuments,
  stored: Parameters<typeof compareFiles>[1],
  line: StatusLine,
  signal: AbortSignal,
): Promise<Comparison> {
  const total = found.documents.length;
  const startMs = performance.now();
  const comparison = await compareFiles(found, stored, signal, (done) => {
    if (performance.now() - startMs > UNSHOWN_MS) line.show('comparing', { done, total });
  });
  line.end();
  return comparison;
}

/** The whole path: another folder of the same name must not be taken for this one, whose documents would then be gone. */
function sourceName(root: string): string {
  return root.length <= MAX_SOURCE_NAME ? root : `...${root.slice(3 - MAX_SOURCE_NAME)}`;
}

function saySkipped(line: StatusLine, { skipped }: FoundDocuments): void {
  for (const [kind, [one, many]] of Object.entries(SKIPPED) as [SkipKind, [string, string]][]) {
    const names = skipped[kind];
    if (names.length === 0) continue;
    const more = names.length > SHOWN_NAMES ? ` and ${names.length - SHOWN_NAMES} more` : '';
    line.say(`Skipped ${counted(names.length, one, many)}: ${names.slice(0, SHOWN_NAMES).join(', ')}${more}.`);
  }
}

const byName = (a: Failure, b: Failure): number => (a.name < b.name ? -1 : 1);

function countsOf({ wanted, gone, unchanged }: Comparison) {
  const added = wanted.filter(({ replaces }) => replaces === null).length;
  return { new: added, changed: wanted.length - added, gone: gone.length, unchanged: unchanged.length };
}

const changesOf = (comparison: Comparison): string =>
  Object.entries(countsOf(comparison))
    .map(([what, count]) => `${count.toLocaleString('en-US')} ${what}`)
    .join(', ');
