import { and, asc, eq, gt, lt } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { ChunkRow } from '../documents/store.ts';
import { chunks } from '../documents/tables.ts';

/** Selects the chunks of a document that overlap a range of its text, at most `limit`, in text order. */
export function selectChunksWithin(
  sql: Sql,
  documentId: string,
  { start, end, limit }: { start: number; end: number; limit: number },
): Promise<ChunkRow[]> {
  return sql
    .select()
    .from(chunks)
    .where(and(eq(chunks.documentId, documentId), lt(chunks.startIndex, end), gt(chunks.endIndex, start)))
    .orderBy(asc(chunks.position))
    .limit(limit);
}

/** Returns a chunk of a document, or null. */
export async function selectDocumentChunk(sql: Sql, documentId: string, id: string): Promise<ChunkRow | null> {
  const [row] = await sql
    .select()
    .from(chunks)
    .where(and(eq(chunks.documentId, documentId), eq(chunks.id, id)));
  return row ?? null;
}
