import { and, asc, eq, gt, inArray, isNull, ne } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { documents } from '../documents/tables.ts';
import { INDEX_VERSION } from '../index-version.ts';
import { knowledgeBases } from '../tables.ts';

/** A knowledge base as far as the state of its index is concerned. */
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

/** Up to `limit` knowledge bases with chunks after `after`, in the order of their ids. */
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

/** Chunks that the database has of each document of the knowledge base. */
export async function selectChunkCounts(sql: Sql, baseId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await sql
    .select({ id: documents.id, chunkCount: documents.chunkCount })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, baseId), gt(documents.chunkCount, 0)));
  return new Map(rows.map(({ id, chunkCount }) => [id, chunkCount]));
}

/** Whether documents of the knowledge base wait to be embedded again. */
export async function hasUnembedded(sql: Sql, baseId: string): Promise<boolean> {
  const waiting = and(
    eq(documents.knowledgeBaseId, baseId),
    gt(documents.chunkCount, 0),
    isNull(documents.embeddingFingerprint),
  );
  return (await sql.$count(documents, waiting)) > 0;
}

/** Marks the index as damaged: searches are rejected from now on. */
export async function markDamaged(sql: Sql, baseId: string): Promise<void> {
  await sql.update(knowledgeBases).set({ indexState: 'damaged' }).where(eq(knowledgeBases.id, baseId));
}

/**
 * Has documents embedded again: those of `ids`, or all. Resets the fingerprints, which is what queues the jobs. The knowledge base is
 * locked first, as writers of documents do.
 */
export async function markForRebuild(sql: Sql, baseId: string, ids: readonly string[] | null): Promise<void> {
  await sql.transaction(async (transaction) => {
    await transaction
      .update(knowledgeBases)
      .set({ indexState: 'rebuilding', indexVersion: INDEX_VERSION, embeddingFingerprint: null })
      .where(eq(knowledgeBases.id, baseId));
    const isOfBase = eq(documents.knowledgeBaseId, baseId);
    await transaction
      .update(documents)
      .set({ embeddingFingerprint: null })
      .where(ids === null ? isOfBase : and(isOfBase, inArray(documents.id, [...ids])));
  });
}

/** Marks the index as complete, unless it was found damaged meanwhile. */
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
