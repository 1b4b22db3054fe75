import { and, eq } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { ChunkRow } from '../documents/store.ts';
import { chunks } from '../documents/tables.ts';

/** Returns a chunk of a document, or null. */
export async function selectDocumentChunk(sql: Sql, documentId: string, id: string): Promise<ChunkRow | null> {
  const [row] = await sql
    .select()
    .from(chunks)
    .where(and(eq(chunks.documentId, documentId), eq(chunks.id, id)));
  return row ?? null;
}
