import type { Deps } from '../../deps.ts';
import type { FieldValues } from '../../search/field-values.ts';
import { chunkFields } from '../retrieval/view-chunk.ts';
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
  updateFingerprint,
  upsertJobDocument,
} from './worker-store.ts';

/** A document on its way into the knowledge base: what it holds now, or why it could not be read. */
export interface DocumentChange {
  row: Omit<DocumentRow, 'chunkCount' | 'status' | 'error' | 'contentHash' | 'language'>;
  /** What was stored of it before; null where nothing was. */
  before: DocumentRow | null;
  outcome: { prepared: PreparedDocument } | { error: JobError };
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
  context: JobContext & { fingerprint: string },
  changes: readonly DocumentChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const { base, source } = context;
  const ids = changes.map(({ row }) => row.id);
  await deps.chunks.replace(base.id, ids, {
    chunks: changes.flatMap(indexedChunks),
    isNew: changes.every(({ before }) => before === null),
  });
  const gone = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockSource(sql, base.id, source.id))) return null;
    await updateFingerprint(sql, base.id, context.fingerprint);
    const deleted: string[] = [];
    for (const change of changes) {
      // Who deleted it meanwhile wins: an id never comes back.
      if (change.before !== null && !(await isDocument(sql, change.row.id))) deleted.push(change.row.id);
      else await writeOne(sql, context, change);
    }
    return deleted;
  });
  await deps.chunks.remove(base.id, gone ?? ids);
  if (gone === null) throw new SourceGone();
}

async function writeOne(
  sql: Parameters<typeof replaceDocument>[0],
  { job, base, source }: JobContext,
  { row, before, outcome }: DocumentChange,
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

function indexedChunks({ row, outcome }: DocumentChange) {
  if (!('prepared' in outcome)) return [];
  const { chunks, language } = outcome.prepared;
  return chunks.map((chunk) => ({
    id: chunk.id,
    documentId: row.id,
    documentName: row.name,
    sourceType: row.sourceType,
    text: chunk.text,
    language,
    vector: chunk.vector,
    fields: { ...(row.metadata as FieldValues), ...(chunkFields(chunk) as FieldValues) },
  }));
}
