import { admit } from '../../inference/admission.ts';
import type { Call } from '../../lib/caller.ts';
import { embedInBatches } from './embed-in-batches.ts';
import {
  countOfOthers,
  selectChunksOf,
  selectOfOthers,
  settleFingerprint,
  updateEmbedded,
  updateFingerprint,
} from './embedding-store.ts';
import { indexedChunk } from './indexed-chunk.ts';
import type { IngestDeps } from './ingest-deps.ts';
import { addToJob, type DocumentRow, type JobContext, lockSource } from './worker-store.ts';
import { DOCUMENTS_PER_WRITE, splitIntoWrites } from './write-batches.ts';
import { SourceGone } from './write-documents.ts';

type EmbedAgainDeps = Pick<IngestDeps, 'db' | 'chunks' | 'models' | 'gate' | 'recordUsage' | 'metrics' | 'now'>;

/**
 * Embeds again, from their stored text, the documents of a source that another model than the present one has embedded. The index then
 * never compares vectors of two models: until all are done, the knowledge base is of none. Goes on where an earlier run ended. Gives how
 * many documents it has embedded.
 */
export async function reEmbedChunks(
  deps: EmbedAgainDeps,
  context: JobContext & { call: Call },
  signal: AbortSignal,
): Promise<number> {
  const { job, base } = context;
  let done = 0;
  for (;;) {
    signal.throwIfAborted();
    const embedded = await deps.gate.within(job.organizationId, signal, () => embedSome(deps, context, signal));
    if (embedded === 0) return done;
    done += embedded;
    await deps.chunks.upkeep(base.id, true);
  }
}

/** Embeds and writes the next of them; says so of the knowledge base where none is left. */
async function embedSome(
  deps: EmbedAgainDeps,
  context: JobContext & { call: Call },
  signal: AbortSignal,
): Promise<number> {
  const { base, source, call } = context;
  // Asked each time: the model may be bound to something else while this runs.
  const embedder = admit(deps, call, { kind: 'embedding', model: base.embeddingModel });
  const fingerprint = embedder.engine.fingerprint();
  const documents = splitIntoWrites(await selectOfOthers(deps.db.sql, source.id, fingerprint, DOCUMENTS_PER_WRITE));
  if (documents.length === 0) {
    await settleFingerprint(deps.db.sql, base.id, fingerprint);
    return 0;
  }
  const ids = documents.map(({ id }) => id);
  const stored = await selectChunksOf(deps.db.sql, ids);
  const texts = stored.map(({ text }) => text);
  const vectors = await embedInBatches({ deps, embedder }, texts, 'document', signal);
  await write(deps, context, { documents, stored, vectors, fingerprint });
  return documents.length;
}

/** The documents that a job embeds again, with those that an earlier run of it has done. */
export async function countStaleChunks(deps: EmbedAgainDeps, context: JobContext & { call: Call }): Promise<number> {
  const { job, base, source, call } = context;
  const { engine } = admit(deps, call, { kind: 'embedding', model: base.embeddingModel });
  return job.documentsProcessed + (await countOfOthers(deps.db.sql, source.id, engine.fingerprint()));
}

/** The index first, then what is said of it, as `writeDocuments`: whoever deletes a document, or all of it, meanwhile wins. */
async function write(
  deps: EmbedAgainDeps,
  { job, base, source }: JobContext,
  embedded: {
    documents: readonly DocumentRow[];
    stored: Awaited<ReturnType<typeof selectChunksOf>>;
    vectors: readonly Float32Array[];
    fingerprint: string;
  },
): Promise<void> {
  const { documents, stored, vectors, fingerprint } = embedded;
  const ids = documents.map(({ id }) => id);
  const documentOf = new Map(documents.map((document) => [document.id, document]));
  await updateFingerprint(deps.db.sql, base.id, fingerprint);
  const chunks = stored.flatMap((chunk, i) => {
    const [document, vector] = [documentOf.get(chunk.documentId), vectors[i]];
    return document === undefined || vector === undefined ? [] : [indexedChunk(document, chunk, vector)];
  });
  await deps.chunks.replace(base.id, ids, { chunks, isNew: false });
  const there = await deps.db.sql.transaction(async (sql) => {
    if (!(await lockSource(sql, base.id, source.id))) return null;
    const updated = await updateEmbedded(sql, ids, fingerprint);
    if (job.kind === 'embed') await addToJob(sql, job.id, { documentsProcessed: updated.length });
    return new Set(updated);
  });
  const gone = ids.filter((id) => there === null || !there.has(id));
  await deps.chunks.remove(base.id, gone);
  if (there === null) throw new SourceGone();
}
