import { admit } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import type { ChunkRow, DocumentRow } from '../documents/store.ts';
import { incrementJobCounts } from '../jobs/store.ts';
import { maintainIndex } from './maintain-index.ts';
import { embedInBatches } from './prepare-document.ts';
import {
  countStaleDocuments,
  prepareVectors,
  selectChunksOfDocuments,
  selectCompleteVectors,
  selectStaleDocuments,
  switchVectors,
  updateDocumentFingerprints,
} from './re-embedding-store.ts';
import { type IngestDeps, lockRun, SourceDeletedError } from './run-context.ts';
import type { JobContext } from './store.ts';
import { DOCUMENTS_PER_WRITE, takeWrite, toIndexedChunk } from './write-documents.ts';

type ReEmbedDeps = Pick<
  IngestDeps,
  'db' | 'chunks' | 'models' | 'itemSemaphore' | 'logger' | 'reserve' | 'recordUsage' | 'metrics' | 'now'
>;

/**
 * Embeds the stored chunks of a data source again that another model has embedded. The new vectors are written beside
 * the searched vectors, until all chunks of the knowledge base have them. Continues where an earlier run ended.
 * Returns the number of embedded documents.
 */
export async function reEmbedChunks(
  deps: ReEmbedDeps,
  context: JobContext & { call: Call },
  signal: AbortSignal,
): Promise<number> {
  const { job, base } = context;
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const embedded = await deps.itemSemaphore.within(job.organizationId, signal, () =>
      embedNextDocuments(deps, context, signal),
    );
    if (embedded === 0) return total;
    total += embedded;
    await maintainIndex(deps, base.id, true);
  }
}

/** Embeds and writes the next documents; makes searches use the new vectors when none remains. */
async function embedNextDocuments(
  deps: ReEmbedDeps,
  context: JobContext & { call: Call },
  signal: AbortSignal,
): Promise<number> {
  const { base, source, call } = context;
  // Admitted each time, because the model's binding may change meanwhile.
  const embedder = admit(deps, call, { kind: 'embedding', model: base.embeddingModel });
  const fingerprint = embedder.engine.fingerprint();
  const documents = takeWrite(await selectStaleDocuments(deps.db.sql, source.id, fingerprint, DOCUMENTS_PER_WRITE));
  if (documents.length === 0) {
    await completeVectors(deps, base.id, fingerprint);
    return 0;
  }
  const ids = documents.map(({ id }) => id);
  const chunks = await selectChunksOfDocuments(deps.db.sql, ids);
  const texts = chunks.map(({ text }) => text);
  const vectors = await embedInBatches({ deps, embedder }, texts, 'document', signal);
  await writeVectors(deps, context, { documents, chunks, vectors, fingerprint });
  return documents.length;
}

/** Makes searches use the vectors of a model when all chunks of the knowledge base have them. May be called again. */
export async function completeVectors(
  { db, chunks }: Pick<ReEmbedDeps, 'db' | 'chunks'>,
  baseId: string,
  fingerprint: string,
): Promise<void> {
  const complete = await selectCompleteVectors(db.sql, baseId, fingerprint);
  if (complete === null || complete.searched === fingerprint) return;
  await chunks.indexVectors(baseId, complete.column);
  await switchVectors(db.sql, baseId, { ...complete, fingerprint });
}

/**
 * Rebuilds the index after a re-embedding: the approximate index of vectors, and the statistics of words. Drops the
 * vectors of other models. Only maintains the index while chunks lack vectors of the model.
 */
export async function rebuildIndex(deps: ReEmbedDeps, { base, call }: JobContext & { call: Call }): Promise<void> {
  const fingerprint = admit(deps, call, { kind: 'embedding', model: base.embeddingModel }).engine.fingerprint();
  const complete = await selectCompleteVectors(deps.db.sql, base.id, fingerprint);
  if (complete?.searched === fingerprint) await deps.chunks.rebuild(base.id, complete.column);
  else await maintainIndex(deps, base.id);
}

/** Counts the documents that a job re-embeds, including those that an earlier run of it has done. */
export async function countStaleChunks(deps: ReEmbedDeps, context: JobContext & { call: Call }): Promise<number> {
  const { job, base, source, call } = context;
  const { engine } = admit(deps, call, { kind: 'embedding', model: base.embeddingModel });
  return job.documentsProcessed + (await countStaleDocuments(deps.db.sql, source.id, engine.fingerprint()));
}

/** Writes the index first, then the rows, as `writeDocuments`. A concurrent deletion wins. */
async function writeVectors(
  deps: ReEmbedDeps,
  context: JobContext,
  embedded: {
    documents: readonly DocumentRow[];
    chunks: readonly ChunkRow[];
    vectors: readonly Float32Array[];
    fingerprint: string;
  },
): Promise<void> {
  const { job, base } = context;
  const { documents, vectors, fingerprint } = embedded;
  const ids = documents.map(({ id }) => id);
  const documentById = new Map(documents.map((document) => [document.id, document]));
  const column = await prepareVectors(deps.db.sql, base.id, fingerprint);
  const chunks = embedded.chunks.flatMap((chunk, i) => {
    const [document, vector] = [documentById.get(chunk.documentId), vectors[i]];
    return document === undefined || vector === undefined ? [] : [toIndexedChunk(document, chunk, vector)];
  });
  await deps.chunks.replace(base.id, ids, { chunks, isNew: false, column });
  const existing = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockRun(sql, context))) return null;
    const updated = await updateDocumentFingerprints(sql, ids, fingerprint);
    if (job.kind === 'embed') await incrementJobCounts(sql, job.id, { documentsProcessed: updated.length });
    return new Set(updated);
  });
  const deleted = ids.filter((id) => existing === null || !existing.has(id));
  await deps.chunks.remove(base.id, deleted);
  if (existing === null) throw new SourceDeletedError();
}
