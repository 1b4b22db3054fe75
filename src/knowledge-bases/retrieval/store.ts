import { and, count, desc, eq, inArray } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { chunks, documents } from '../documents/tables.ts';
import { knowledgeBases } from '../tables.ts';

/** A chunk with what is known of its document. */
export interface ChunkRow {
  id: string;
  text: string;
  tokens: number;
  page: number | null;
  headingPath: string[];
  startIndex: number;
  endIndex: number;
  documentId: string;
  documentName: string;
  sourceUri: string | null;
  sourceType: string;
  metadata: Record<string, unknown>;
  /** Of what has embedded the chunks of the knowledge base, now. */
  baseFingerprint: string | null;
}

/** Those of the chunks that the knowledge base has now, in no particular order. */
export function selectChunks(sql: Sql, knowledgeBaseId: string, ids: readonly string[]): Promise<ChunkRow[]> {
  return sql
    .select({
      id: chunks.id,
      text: chunks.text,
      tokens: chunks.tokens,
      page: chunks.page,
      headingPath: chunks.headingPath,
      startIndex: chunks.startIndex,
      endIndex: chunks.endIndex,
      documentId: chunks.documentId,
      documentName: documents.name,
      sourceUri: documents.sourceUri,
      sourceType: documents.sourceType,
      metadata: documents.metadata,
      baseFingerprint: knowledgeBases.embeddingFingerprint,
    })
    .from(chunks)
    .innerJoin(documents, eq(documents.id, chunks.documentId))
    .innerJoin(knowledgeBases, eq(knowledgeBases.id, documents.knowledgeBaseId))
    .where(and(eq(chunks.knowledgeBaseId, knowledgeBaseId), inArray(chunks.id, [...ids])));
}

/** The languages of the knowledge base's documents, each with how many there are, the most first. */
export async function selectLanguages(
  sql: Sql,
  knowledgeBaseId: string,
): Promise<{ language: string; documents: number }[]> {
  const number = count();
  return sql
    .select({ language: documents.language, documents: number })
    .from(documents)
    .where(and(eq(documents.knowledgeBaseId, knowledgeBaseId), eq(documents.status, 'completed')))
    .groupBy(documents.language)
    .orderBy(desc(number));
}
