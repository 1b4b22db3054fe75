import { and, asc, count, eq, sql as expression, gt, inArray, isNull, ne, notExists, or } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { chunks, documents } from '../documents/tables.ts';
import { ingestionJobs } from '../jobs/tables.ts';
import { knowledgeBases } from '../tables.ts';
import type { BaseRow, DocumentRow } from './worker-store.ts';

/** The embedding models that knowledge bases with chunks were made with. */
export async function selectEmbeddingModels(sql: Sql): Promise<string[]> {
  const rows = await sql
    .selectDistinct({ model: knowledgeBases.embeddingModel })
    .from(knowledgeBases)
    .where(gt(knowledgeBases.chunkCount, 0));
  return rows.map(({ model }) => model);
}

/**
 * Up to `limit` knowledge bases of the model whose chunks are not, or not all, of the fingerprint, and for which nothing is under way: no
 * job waits, and none has embedded them again since `since`.
 */
export function selectBasesOfOthers(
  sql: Sql,
  { model, fingerprint, since }: { model: string; fingerprint: string; since: Date },
  limit: number,
): Promise<BaseRow[]> {
  const underWay = sql
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
        notExists(underWay),
      ),
    )
    .orderBy(asc(knowledgeBases.id))
    .limit(limit);
}

/** The sources of the knowledge base that have chunks of other fingerprints, each with the key of its last job. */
export async function selectSourcesOfOthers(
  sql: Sql,
  baseId: string,
  fingerprint: string,
): Promise<{ id: string; keyId: string }[]> {
  const rows = await sql
    .selectDistinct({ id: documents.dataSourceId })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), isOfOther(fingerprint)));
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

/** Documents of the source that have chunks of other fingerprints. */
export async function countOfOthers(sql: Sql, sourceId: string, fingerprint: string): Promise<number> {
  const [found] = await sql
    .select({ documents: count() })
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), isOfOther(fingerprint)));
  return found?.documents ?? 0;
}

/** Up to `limit` of them. */
export function selectOfOthers(sql: Sql, sourceId: string, fingerprint: string, limit: number): Promise<DocumentRow[]> {
  return sql
    .select()
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), isOfOther(fingerprint)))
    .orderBy(asc(documents.id))
    .limit(limit);
}

export type StoredChunk = typeof chunks.$inferSelect;

/** The chunks of the documents. */
export function selectChunksOf(sql: Sql, documentIds: readonly string[]): Promise<StoredChunk[]> {
  return sql
    .select()
    .from(chunks)
    .where(inArray(chunks.documentId, [...documentIds]))
    .orderBy(asc(chunks.documentId), asc(chunks.position));
}

/**
 * To be called before chunks of the fingerprint are written to the index: a knowledge base that holds others is of no one model from now
 * on, and one that holds nothing is of this one.
 */
export async function updateFingerprint(sql: Sql, baseId: string, fingerprint: string): Promise<void> {
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

/** Says of a knowledge base that all its chunks are of the fingerprint, if they are. */
export async function settleFingerprint(sql: Sql, baseId: string, fingerprint: string): Promise<void> {
  const others = sql
    .select({ id: documents.id })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), isOfOther(fingerprint)));
  await sql
    .update(knowledgeBases)
    .set({ embeddingFingerprint: fingerprint })
    .where(and(eq(knowledgeBases.id, baseId), gt(knowledgeBases.chunkCount, 0), notExists(others)));
}

/** Says what embedded the chunks of the documents. Gives those that are there. */
export async function updateEmbedded(sql: Sql, ids: readonly string[], fingerprint: string): Promise<string[]> {
  const rows = await sql
    .update(documents)
    .set({ embeddingFingerprint: fingerprint })
    .where(inArray(documents.id, [...ids]))
    .returning({ id: documents.id });
  return rows.map(({ id }) => id);
}

/** Says that the knowledge base waits to be embedded again. */
export async function updateIndexing(sql: Sql, baseId: string): Promise<void> {
  await sql.update(knowledgeBases).set({ status: 'indexing' }).where(eq(knowledgeBases.id, baseId));
}

function isOfOther(fingerprint: string) {
  return and(
    gt(documents.chunkCount, 0),
    or(isNull(documents.embeddingFingerprint), ne(documents.embeddingFingerprint, fingerprint)),
  );
}
