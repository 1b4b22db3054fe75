import type { PageRenderer } from '../../connectors/browser/page-renderer.ts';
import type { Connector, SourceContent, SourceItem } from '../../connectors/connector.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import type { DocumentMetadata } from '../../extraction/document-metadata.ts';
import type { Extractor } from '../../extraction/extractor.ts';
import type { Admission } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import type { FairSemaphore } from '../../lib/fair-semaphore.ts';
import type { ImportedArchive } from '../jobs/ingest-job.ts';
import type { FilterKeys } from './filter-keys.ts';
import type { OcrProgressWriter } from './ocr-progress.ts';
import { isLatestRun, type JobContext, lockSource } from './store.ts';

/** Dependencies of an ingestion run. */
export type IngestDeps = Pick<
  Deps,
  'db' | 'blobs' | 'chunks' | 'jobs' | 'models' | 'config' | 'logger' | 'reserve' | 'recordUsage' | 'metrics' | 'now'
> & {
  extractor: Pick<Extractor, 'extract'>;
  /** Runs the JavaScript of web pages; null when the operator has not enabled it. */
  renderer: PageRenderer | null;
  /** Limits concurrent items of all jobs, shared fairly among organizations. */
  itemSemaphore: FairSemaphore;
  /** Null in tests that import nothing. */
  archives: ArchiveImporter | null;
  /** Returns the connector of a data source and its config with decrypted secrets. */
  openSource(source: JobContext['source']): { connector: Connector; config: unknown };
};

/** Imports archives; implemented above this folder. */
export interface ArchiveImporter {
  /** Imports the documents of a data source. Continues where an earlier run ended. */
  importSource(
    deps: IngestDeps,
    context: JobContext & { call: Call },
    archive: ImportedArchive,
    signal: AbortSignal,
  ): Promise<void>;
  /** Deletes the archive when no import uses it any more. May be called again. */
  deleteArchive(deps: Pick<IngestDeps, 'db' | 'blobs' | 'logger' | 'now'>, archive: ImportedArchive): Promise<void>;
}

/** Context of a run that ingests items. */
export interface RunContext extends JobContext {
  deps: IngestDeps;
  /** Admits the embedding model. Called per item, because the model's binding may change during a job. */
  admit(): Admission<'embedding'>;
  filterKeys: FilterKeys;
  ocrProgress: OcrProgressWriter;
  call: Call;
  fetch(item: SourceItem): Promise<SourceContent>;
  /** Metadata that the data source's config adds to every document. */
  metadata: DocumentMetadata;
  /** Seconds after which documents expire whose items say nothing; null: never. */
  expiresAfterSeconds: number | null;
  /** Fields of JSONL files with the text, by the data source's config. */
  textFields: readonly string[] | undefined;
  signal: AbortSignal;
}

/** Context of a run with the admitted embedding model of an item. */
export interface ItemContext extends RunContext {
  embedder: Admission<'embedding'>;
}

/** A new or changed item. */
export interface ChangedItem extends SourceItem {
  /** Documents of the item that were stored before this run. */
  storedDocuments: number;
}

/** Documents that were counted for an item when it was listed. */
export function countListed({ storedDocuments }: ChangedItem): number {
  return Math.max(1, storedDocuments);
}

/** The data source was deleted, and its job with it. */
export class SourceDeletedError extends Error {
  override readonly name = 'SourceDeletedError';
}

/** Another run of the job has begun, or has ended it: this one may write nothing any more. */
export class RunSupersededError extends Error {
  override readonly name = 'RunSupersededError';

  constructor() {
    super('another process has taken the job over');
  }
}

/** Throws a `RunSupersededError` when another run of the job has begun, or has ended it. A deleted job passes. */
export async function requireLatestRun(sql: Sql, job: JobContext['job']): Promise<void> {
  if (!(await isLatestRun(sql, job))) throw new RunSupersededError();
}

/**
 * `lockSource` for the writes of a run. Throws a `RunSupersededError` unless it is the latest run, which stays so until
 * the transaction ends: `beginRun` and `endJob` are called under the same lock.
 */
export async function lockRun(sql: Sql, { job, source, base }: JobContext): Promise<boolean> {
  if (!(await lockSource(sql, base.id, source.id))) return false;
  await requireLatestRun(sql, job);
  return true;
}

/** Writes rows of a run in a transaction. Throws as `lockRun` does, and `SourceDeletedError`, writing nothing. */
export function writeInRun(
  { deps, ...context }: JobContext & { deps: Pick<Deps, 'db'> },
  write: (sql: Sql) => Promise<void>,
): Promise<void> {
  return deps.db.sql.transaction(async (sql) => {
    if (!(await lockRun(sql, context))) throw new SourceDeletedError();
    await write(sql);
  });
}
