import { and, count, desc, eq } from 'drizzle-orm';
import type { Database, Sql } from '../../db/db.ts';
import { prepared } from '../../db/prepared.ts';
import { documents } from '../documents/tables.ts';

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

/**
 * Writing and planning it through Drizzle would take five times as long. Each chunk is looked up by its id, which the planner must not
 * change (`offset 0`): by what it believes of the table, it also read where all chunks of the knowledge base are, or all its documents.
 * One value of JSON, which is read in half the time of as many columns and rows. The names are those of `ChunkRow`.
 */
const selectChunksOf = prepared(
  'select_chunks',
  `select coalesce(json_agg(found), '[]') as chunks
  from json_array_elements_text($1::json->'ids') as wanted(id), lateral (
    select c.id, c.text, c.tokens, c.page, c.heading_path as "headingPath", c.start_index as "startIndex", c.end_index as "endIndex",
      c.document_id as "documentId", d.name as "documentName", d.source_uri as "sourceUri", d.source_type as "sourceType", d.metadata,
      b.embedding_fingerprint as "baseFingerprint"
    from chunks c
    join documents d on d.id = c.document_id
    join knowledge_bases b on b.id = d.knowledge_base_id
    where c.id = wanted.id and c.knowledge_base_id = $1::json->>'base'
    offset 0
  ) as found`,
);

/** Those of the chunks that the knowledge base has now, in no particular order. */
export async function selectChunks(db: Database, knowledgeBaseId: string, ids: readonly string[]): Promise<ChunkRow[]> {
  const [row] = await selectChunksOf(db, JSON.stringify({ base: knowledgeBaseId, ids }));
  return (row as { chunks: ChunkRow[] }).chunks;
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
