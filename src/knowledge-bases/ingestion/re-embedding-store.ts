import { and, asc, count, eq, sql as expression, gt, inArray, isNull, ne, notExists, or } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { ChunkRow, DocumentRow } from '../documents/store.ts';
import { chunks, documents } from '../documents/tables.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { knowledgeBases } from '../tables.ts';

/** Selects the embedding models of knowledge bases with chunks. */
export async function selectEmbeddingModels(sql: Sql): Promise<string[]> {
  const rows = await sql
    .selectDistinct({ model: knowledgeBases.embeddingModel })
    .from(knowledgeBases)
    .where(gt(knowledgeBases.chunkCount, 0));
  return rows.map(({ model }) => model);
}

/**
 * Selects up to `limit` knowledge bases of a model with chunks of another fingerprint, unless a job is queued for them
 * or has re-embedded them since `since`.
 */
export function selectStaleBases(
  sql: Sql,
  { model, fingerprint, since }: { model: string; fingerprint: string; since: Date },
  limit: number,
): Promise<KnowledgeBaseRow[]> {
  const pendingJobs = sql
    .select({ id: ingestionJobs.id })
    .from(ingestionJobs)
    .where(
      and(
        eq(ingestionJobs.knowledgeBaseId, knowledgeBases.id),
        or(
          eq(ingestionJobs.status, 'queued'),
          and(
            eq(ingestionJobs.kind, 'embed'),
            or(
              eq(ingestionJobs.status, 'processing'),
              // A damaged index is rebuilt whenever that happens.
              and(gt(ingestionJobs.createdAt, since), eq(knowledgeBases.indexState, 'ready')),
            ),
          ),
        ),
      ),
    );
  return sql
    .select()
    .from(knowledgeBases)
    .where(
      and(
        eq(knowledgeBases.embeddingModel, model),
        gt(knowledgeBases.chunkCount, 0),
        or(isNull(knowledgeBases.embeddingFingerprint), ne(knowledgeBases.embeddingFingerprint, fingerprint)),
        notExists(pendingJobs),
      ),
    )
    .orderBy(asc(knowledgeBases.id))
    .limit(limit);
}

/** Selects the data sources with chunks of another fingerprint, each with the key of its last job. */
export async function selectStaleSources(
  sql: Sql,
  baseId: string,
  fingerprint: string,
): Promise<{ id: string; keyId: string }[]> {
  const rows = await sql
    .selectDistinct({ id: documents.dataSourceId })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), isStale(fingerprint)));
  const sources: { id: string; keyId: string }[] = [];
  for (const { id } of rows) {
    const [last] = await sql
      .select({ keyId: ingestionJobs.keyId })
      .from(ingestionJobs)
      .where(eq(ingestionJobs.dataSourceId, id))
      .orderBy(expression`${ingestionJobs.id} desc`)
      .limit(1);
    if (last !== undefined) sources.push({ id, keyId: last.keyId });
  }
  return sources;
}

/** Counts the documents of a data source with chunks of another fingerprint. */
export async function countStaleDocuments(sql: Sql, sourceId: string, fingerprint: string): Promise<number> {
  const [counted] = await sql
    .select({ documents: count() })
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), isStale(fingerprint)));
  return counted?.documents ?? 0;
}

/** Selects up to `limit` documents of a data source with chunks of another fingerprint. */
export function selectStaleDocuments(
  sql: Sql,
  sourceId: string,
  fingerprint: string,
  limit: number,
): Promise<DocumentRow[]> {
  return sql
    .select()
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), isStale(fingerprint)))
    .orderBy(asc(documents.id))
    .limit(limit);
}

/** Selects the chunks of documents. */
export function selectChunksOfDocuments(sql: Sql, documentIds: readonly string[]): Promise<ChunkRow[]> {
  return sql
    .select()
    .from(chunks)
    .where(inArray(chunks.documentId, [...documentIds]))
    .orderBy(asc(chunks.documentId), asc(chunks.position));
}

/**
 * Call it before chunks of the fingerprint are written to the index. Sets the fingerprint of an empty knowledge base,
 * and clears that of one with chunks of another fingerprint.
 */
export async function prepareFingerprint(sql: Sql, baseId: string, fingerprint: string): Promise<void> {
  await sql
    .update(knowledgeBases)
    .set({
      embeddingFingerprint: expression`case when ${knowledgeBases.chunkCount} = 0 then ${fingerprint} else null end`,
    })
    .where(
      and(
        eq(knowledgeBases.id, baseId),
        or(isNull(knowledgeBases.embeddingFingerprint), ne(knowledgeBases.embeddingFingerprint, fingerprint)),
      ),
    );
}

/** Sets the fingerprint of a knowledge base if all of its chunks have it. */
export async function settleFingerprint(sql: Sql, baseId: string, fingerprint: string): Promise<void> {
  const stale = sql
    .select({ id: documents.id })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), isStale(fingerprint)));
  await sql
    .update(knowledgeBases)
    .set({ embeddingFingerprint: fingerprint })
    .where(and(eq(knowledgeBases.id, baseId), gt(knowledgeBases.chunkCount, 0), notExists(stale)));
}

/** Sets the fingerprint of documents. Returns the ids of those that exist. */
export async function updateDocumentFingerprints(
  sql: Sql,
  ids: readonly string[],
  fingerprint: string,
): Promise<string[]> {
  const rows = await sql
    .update(documents)
    .set({ embeddingFingerprint: fingerprint })
    .where(inArray(documents.id, [...ids]))
    .returning({ id: documents.id });
  return rows.map(({ id }) => id);
}

/** Sets the status of a knowledge base to `indexing`. */
export async function markIndexing(sql: Sql, baseId: string): Promise<void> {
  await sql.update(knowledgeBases).set({ status: 'indexing' }).where(eq(knowledgeBases.id, baseId));
}

function isStale(fingerprint: string) {
  return and(
    gt(documents.chunkCount, 0),
    or(isNull(documents.embeddingFingerprint), ne(documents.embeddingFingerprint, fingerprint)),
  );
}
