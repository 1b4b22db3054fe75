import { and, asc, eq, inArray } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { chunks, documents } from '../documents/tables.ts';
import { parseTables, type StoredTable } from './parse-tables.ts';
import { TableQueryError } from './query-table.ts';

/** A chunk of a table with columns of its document. */
export type DocumentChunk = Awaited<ReturnType<typeof selectRows>>[number];

/** A table of a document. */
export type DocumentTable = StoredTable<DocumentChunk>;

/** Maximum chunks of the documents of one name, about 4 MB of text: tables are computed in memory. */
const MAX_CHUNKS = 2_000;
/** Maximum documents of one name: the sheets of a workbook. */
const MAX_DOCUMENTS = 500;

/**
 * Loads the tables of all documents with a name in knowledge bases: a workbook is a document for each sheet. Throws
 * `TableQueryError` when there is no such document, or it is too large.
 */
export async function loadTables(sql: Sql, baseIds: readonly string[], name: string): Promise<DocumentTable[]> {
  const rows = await sql
    .select({ id: documents.id, part: documents.part, chunkCount: documents.chunkCount })
    .from(documents)
    .where(and(inArray(documents.knowledgeBaseId, [...baseIds]), eq(documents.name, name)))
    .orderBy(asc(documents.id))
    .limit(MAX_DOCUMENTS);
  if (rows.length === 0) throw new TableQueryError(`There is no document '${name}'. Name one as a search shows it.`);
  const total = rows.reduce((sum, { chunkCount }) => sum + chunkCount, 0);
  if (total > MAX_CHUNKS) throw new TableQueryError(`'${name}' is too large: it has more than ${MAX_CHUNKS} chunks.`);
  const ids = rows.map(({ id }) => id);
  const byDocument = Map.groupBy(await selectRows(sql, ids), ({ documentId }) => documentId);
  const tables: DocumentTable[] = [];
  let previous = '';
  for (const { id, part } of rows) {
    const [first, ...others] = parseTables(byDocument.get(id) ?? []);
    // A long sheet has a document for every million characters, named after its first row.
    const sheet = part.replace(/(?:^|-)row-\d+$/, '');
    const last = tables.at(-1);
    const continues = sheet !== part && sheet === previous && last?.columns.join('|') === first?.columns.join('|');
    previous = sheet === part ? '' : sheet;
    if (first === undefined) continue;
    if (continues && last !== undefined) tables[tables.length - 1] = { ...last, rows: [...last.rows, ...first.rows] };
    else tables.push(first);
    tables.push(...others);
  }
  return tables;
}

function selectRows(sql: Sql, documentIds: readonly string[]) {
  return sql
    .select({
      id: chunks.id,
      documentId: chunks.documentId,
      knowledgeBaseId: chunks.knowledgeBaseId,
      documentName: documents.name,
      sourceUri: documents.sourceUri,
      sourceType: documents.sourceType,
      mimeType: documents.mimeType,
      metadata: documents.metadata,
      updatedAt: documents.updatedAt,
      text: chunks.text,
      tokens: chunks.tokens,
      startIndex: chunks.startIndex,
      endIndex: chunks.endIndex,
      page: chunks.page,
      cells: chunks.cells,
      headingPath: chunks.headingPath,
      laterPlaces: chunks.laterPlaces,
      boxes: chunks.boxes,
    })
    .from(chunks)
    .innerJoin(documents, eq(documents.id, chunks.documentId))
    .where(inArray(chunks.documentId, [...documentIds]))
    .orderBy(asc(chunks.documentId), asc(chunks.position));
}
