import type { Deps } from '../../deps.ts';
import { updateFingerprint } from './embedding-store.ts';
import type { FilterKeys } from './filter-keys.ts';
import { indexedChunk } from './indexed-chunk.ts';
import type { JobError } from './job-error.ts';
import type { PreparedDocument } from './prepare-document.ts';
import {
  addToCounts,
  addToJob,
  type DocumentRow,
  isDocument,
  type JobContext,
  lockSource,
  replaceDocument,
  upsertJobDocument,
} from './worker-store.ts';

/** A document on its way into the knowledge base: what it holds now, or why it could not be read. */
export interface DocumentChange {
  row: Omit<
    DocumentRow,
    'chunkCount' | 'status' | 'error' | 'contentHash' | 'language' | 'embeddingFingerprint' | 'unfilterableKeys'
  >;
  /** What was stored of it before; null where nothing was. */
  before: DocumentRow | null;
  outcome: { prepared: PreparedDocument } | { error: JobError };
}

/** For which job documents are written. */
export interface WriteContext extends JobContext {
  /** Of what has embedded them. */
  fingerprint: string;
  filterKeys: FilterKeys;
}

/** The source is gone, so its job is. */
export class SourceGone extends Error {
  override readonly name = 'SourceGone';
}

/**
 * Writes documents of a job: the index first, then rows and numbers in one transaction. A crash between leaves chunks in the index that
 * no row knows, which no search returns and the next run replaces. Throws `SourceGone` where the source was deleted meanwhile: then
 * nothing stays.
 */
export async function writeDocuments(
  deps: Pick<Deps, 'db' | 'chunks' | 'now'>,
  context: WriteContext,
  changes: readonly DocumentChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const { base, source, fingerprint } = context;
  const ids = changes.map(({ row }) => row.id);
  const filterable = await context.filterKeys.admit(new Set(changes.flatMap(({ row }) => Object.keys(row.metadata))));
  const unfilterableOf = ({ row }: DocumentChange) => Object.keys(row.metadata).filter((key) => !filterable.has(key));
  const chunks = changes.flatMap((change) => indexedChunks(change, unfilterableOf(change)));
  // Before the index: from now on nobody compares what it holds of another model with a query of this one.
  if (chunks.length > 0) await updateFingerprint(deps.db.sql, base.id, fingerprint);
  await deps.chunks.replace(base.id, ids, { chunks, isNew: changes.every(({ before }) => before === null) });
  const gone = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockSource(sql, base.id, source.id))) return null;
    if (chunks.length > 0) await updateFingerprint(sql, base.id, fingerprint);
    const deleted: string[] = [];
    for (const change of changes) {
      // Who deleted it meanwhile wins: an id never comes back.
      if (change.before !== null && !(await isDocument(sql, change.row.id))) deleted.push(change.row.id);
      else await writeOne(sql, context, change, unfilterableOf(change));
    }
    return deleted;
  });
  await deps.chunks.remove(base.id, gone ?? ids);
  if (gone === null) throw new SourceGone();
}

async function writeOne(
  sql: Parameters<typeof replaceDocument>[0],
  { job, base, source, fingerprint }: WriteContext,
  { row, before, outcome }: DocumentChange,
  unfilterableKeys: string[],
): Promise<void> {
  const prepared = 'prepared' in outcome ? outcome.prepared : null;
  const error = 'error' in outcome ? outcome.error : null;
  const chunks = prepared?.chunks ?? [];
  const written: DocumentRow = {
    ...row,
    chunkCount: chunks.length,
    status: error === null ? 'completed' : 'failed',
    error,
    contentHash: prepared?.contentHash ?? null,
    language: prepared?.language ?? 'none',
    embeddingFingerprint: chunks.length === 0 ? null : fingerprint,
    unfilterableKeys,
  };
  await replaceDocument(
    sql,
    written,
    chunks.map(({ vector, ...chunk }, position) => ({
      ...chunk,
      documentId: row.id,
      knowledgeBaseId: base.id,
      position,
    })),
  );
  const completed = (document: DocumentRow | null) => (document?.status === 'completed' ? 1 : 0);
  await addToCounts(
    sql,
    { baseId: base.id, sourceId: source.id },
    { documents: completed(written) - completed(before), chunks: chunks.length - (before?.chunkCount ?? 0) },
  );
  await upsertJobDocument(sql, {
    jobId: job.id,
    documentId: row.id,
    documentName: row.name,
    status: error === null ? 'completed' : 'failed',
    chunksCreated: chunks.length,
    error,
  });
  await addToJob(sql, job.id, {
    ...(error === null ? { documentsProcessed: 1, chunksCreated: chunks.length } : { documentsFailed: 1 }),
    ...(before === null ? { documentsNew: 1 } : { documentsModified: 1 }),
  });
}

function indexedChunks({ row, outcome }: DocumentChange, unfilterableKeys: readonly string[]) {
  if (!('prepared' in outcome)) return [];
  const { chunks, language } = outcome.prepared;
  return chunks.map((chunk) => indexedChunk({ ...row, language, unfilterableKeys }, chunk, chunk.vector));
}
