import { and, asc, eq, sql as expression, gt, isNull, ne } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { FIRST_VECTOR_COLUMN } from '../../search/chunk-rows.ts';
import { documents } from '../documents/tables.ts';
import { INDEX_VERSION } from '../index-version.ts';
import { knowledgeBases } from '../tables.ts';

/** Fields of a knowledge base that describe the state of its index. */
export type IndexedBase = Pick<
  typeof knowledgeBases.$inferSelect,
  'id' | 'organizationId' | 'name' | 'chunkCount' | 'indexState' | 'indexVersion'
>;

const COLUMNS = {
  id: knowledgeBases.id,
  organizationId: knowledgeBases.organizationId,
  name: knowledgeBases.name,
  chunkCount: knowledgeBases.chunkCount,
  indexState: knowledgeBases.indexState,
  indexVersion: knowledgeBases.indexVersion,
};

/** Up to `limit` knowledge bases with chunks, in the order of their ids, starting behind `after`. */
export function selectIndexedBases(sql: Sql, after: string, limit: number): Promise<IndexedBase[]> {
  return sql
    .select(COLUMNS)
    .from(knowledgeBases)
    .where(and(gt(knowledgeBases.id, after), gt(knowledgeBases.chunkCount, 0)))
    .orderBy(asc(knowledgeBases.id))
    .limit(limit);
}

/** The knowledge base, or null. */
export async function selectIndexedBase(sql: Sql, id: string): Promise<IndexedBase | null> {
  const [row] = await sql.select(COLUMNS).from(knowledgeBases).where(eq(knowledgeBases.id, id));
  return row ?? null;
}

/** Knowledge bases whose index is not ready. */
export function selectUnreadyBases(sql: Sql, limit: number): Promise<IndexedBase[]> {
  return sql
    .select(COLUMNS)
    .from(knowledgeBases)
    .where(ne(knowledgeBases.indexState, 'ready'))
    .orderBy(asc(knowledgeBases.id))
    .limit(limit);
}

/** Number of chunks of each document of the knowledge base in the database. */
export async function selectChunkCounts(sql: Sql, baseId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await sql
    .select({ id: documents.id, chunkCount: documents.chunkCount })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), gt(documents.chunkCount, 0)));
  return new Map(rows.map(({ id, chunkCount }) => [id, chunkCount]));
}

/** Whether documents of the knowledge base wait to be embedded. */
export async function hasUnembedded(sql: Sql, baseId: string): Promise<boolean> {
  const waiting = and(
    eq(documents.knowledgeBaseId, baseId),
    gt(documents.chunkCount, 0),
    isNull(documents.embeddingFingerprint),
  );
  return (await sql.$count(documents, waiting)) > 0;
}

/** Marks the index as damaged, so that it is not searched, and is dropped. */
export async function markDamaged(sql: Sql, baseId: string): Promise<void> {
  await sql.update(knowledgeBases).set({ indexState: 'damaged' }).where(eq(knowledgeBases.id, baseId));
}

/**
 * Queues documents to be embedded again by resetting their fingerprints: `ids`, or null for all, after the table of the
 * index was dropped. Locks the knowledge base first, as writers of documents do.
 */
export async function markForRebuild(sql: Sql, baseId: string, ids: readonly string[] | null): Promise<void> {
  await sql.transaction(async (transaction) => {
    await transaction
      .update(knowledgeBases)
      .set({
        indexState: 'rebuilding',
        indexVersion: INDEX_VERSION,
        ...(ids === null && { embeddingFingerprint: null, vectorColumn: FIRST_VECTOR_COLUMN }),
      })
      .where(eq(knowledgeBases.id, baseId));
    const isOfBase = eq(documents.knowledgeBaseId, baseId);
    await transaction
      .update(documents)
      .set({ embeddingFingerprint: null })
      // One array: a list of parameters is limited to 65,535.
      .where(
        ids === null
          ? isOfBase
          : and(isOfBase, expression`${documents.id} = any(${expression.param([...ids])}::text[])`),
      );
  });
}

/** Marks the index as complete, unless it was marked as damaged in the meantime. */
export async function markReady(sql: Sql, baseId: string): Promise<void> {
  await sql
    .update(knowledgeBases)
    .set({ indexState: 'ready' })
    .where(and(eq(knowledgeBases.id, baseId), eq(knowledgeBases.indexState, 'rebuilding')));
}

/** Marks indexes of other versions as damaged. */
export async function markOutdated(sql: Sql): Promise<void> {
  await sql
    .update(knowledgeBases)
    .set({ indexState: 'damaged' })
    .where(
      and(
        ne(knowledgeBases.indexVersion, INDEX_VERSION),
        gt(knowledgeBases.chunkCount, 0),
        eq(knowledgeBases.indexState, 'ready'),
      ),
    );
}
