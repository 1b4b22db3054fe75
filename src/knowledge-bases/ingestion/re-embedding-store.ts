import { createHash } from 'node:crypto';
import { and, asc, eq, sql as expression, gt, inArray, isNull, ne, notExists, or } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { FIRST_VECTOR_COLUMN } from '../../search/chunk-rows.ts';
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
        or(
          isNull(knowledgeBases.embeddingFingerprint),
          ne(knowledgeBases.embeddingFingerprint, fingerprint),
          ne(knowledgeBases.indexState, 'ready'),
        ),
        notExists(pendingJobs),
      ),
    )
    .orderBy(asc(knowledgeBases.id))
    .limit(limit);
}

/** Whether searches of a knowledge base of the model use vectors of another fingerprint. */
export async function hasOtherVectors(sql: Sql, model: string, fingerprint: string): Promise<boolean> {
  const isOther = and(gt(knowledgeBases.chunkCount, 0), ne(knowledgeBases.embeddingFingerprint, fingerprint));
  return (await sql.$count(knowledgeBases, and(eq(knowledgeBases.embeddingModel, model), isOther))) > 0;
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
  return sql.$count(documents, and(eq(documents.dataSourceId, sourceId), isStale(fingerprint)));
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

/** The vectors that searches of a knowledge base use. */
type SearchedVectors = Pick<KnowledgeBaseRow, 'embeddingFingerprint' | 'vectorColumn'>;

const SEARCHED_VECTORS = {
  embeddingFingerprint: knowledgeBases.embeddingFingerprint,
  vectorColumn: knowledgeBases.vectorColumn,
};

/**
 * Returns the column of the index for vectors of a model: that of searches, or one beside it. Call it before vectors
 * are written. Sets the fingerprint of a new knowledge base.
 */
export async function prepareVectors(sql: Sql, baseId: string, fingerprint: string): Promise<string> {
  const isBase = eq(knowledgeBases.id, baseId);
  const isNew = and(isNull(knowledgeBases.embeddingFingerprint), eq(knowledgeBases.chunkCount, 0));
  await sql.update(knowledgeBases).set({ embeddingFingerprint: fingerprint }).where(and(isBase, isNew));
  const [base] = await sql.select(SEARCHED_VECTORS).from(knowledgeBases).where(isBase);
  // The writer notices itself that the knowledge base was deleted.
  return base === undefined ? FIRST_VECTOR_COLUMN : chooseColumn(base, fingerprint);
}

/** Vectors of two models are never in one column, except while the index is rebuilt and not searched. */
function chooseColumn({ embeddingFingerprint, vectorColumn }: SearchedVectors, fingerprint: string): string {
  if (embeddingFingerprint === null || embeddingFingerprint === fingerprint) return vectorColumn;
  const hash = createHash('sha256').update(fingerprint).digest('hex').slice(0, 16);
  const column = `${FIRST_VECTOR_COLUMN}_${hash}`;
  return column === vectorColumn ? FIRST_VECTOR_COLUMN : column;
}

/**
 * Selects the vectors of a knowledge base whose chunks all have vectors of the model: the fingerprint that searches
 * use, and the column of the model. Null while chunks lack them.
 */
export async function selectCompleteVectors(
  sql: Sql,
  baseId: string,
  fingerprint: string,
): Promise<{ searched: string | null; column: string } | null> {
  const [base] = await sql
    .select(SEARCHED_VECTORS)
    .from(knowledgeBases)
    .where(hasVectors(sql, baseId, fingerprint));
  if (base === undefined) return null;
  return { searched: base.embeddingFingerprint, column: chooseColumn(base, fingerprint) };
}

/**
 * Makes searches use the vectors of a model, with its fingerprint in one step, if all chunks still have them and
 * searches still use the vectors of the fingerprint `searched`.
 */
export async function switchVectors(
  sql: Sql,
  baseId: string,
  { searched, fingerprint, column }: { searched: string | null; fingerprint: string; column: string },
): Promise<void> {
  const isUnchanged = expression`${knowledgeBases.embeddingFingerprint} is not distinct from ${searched}`;
  await sql
    .update(knowledgeBases)
    .set({ embeddingFingerprint: fingerprint, vectorColumn: column })
    .where(and(hasVectors(sql, baseId, fingerprint), isUnchanged));
}

/** Whether it is this knowledge base, and all of its chunks have vectors of the model. */
function hasVectors(sql: Sql, baseId: string, fingerprint: string) {
  const stale = sql
    .select({ id: documents.id })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), isStale(fingerprint)));
  return and(eq(knowledgeBases.id, baseId), gt(knowledgeBases.chunkCount, 0), notExists(stale));
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
