import type { Table } from '@lancedb/lancedb';
import { extraColumns, type IndexedChunk, rangeColumns, toRows } from './chunk-rows.ts';
import { addColumns, addVectors, buildTerms, tableFacts } from './chunk-table.ts';
import { columnIn } from './filter.ts';

/** Ids per deletion. */
const IDS_PER_DELETION = 1000;

/** How documents are written to the index: see `ChunkIndex.replace`. */
export interface IndexWrite {
  isNew: boolean;
  keepsReplaced?: boolean;
  column?: string;
}

/**
 * Adds chunks to a table, with their vectors in `column`; unless `isNew`, in place of those with the same ids, in one
 * step for searches. Replaced chunks keep their vectors in other columns. Returns the number of replaced chunks.
 */
export async function writeChunks(
  table: Table,
  chunks: readonly IndexedChunk[],
  { isNew, column }: { isNew: boolean; column: string },
): Promise<number> {
  if (chunks.length === 0) return 0;
  await addVectors(table, column);
  const columns = await addColumns(table, rangeColumns(chunks));
  let replaced = 0;
  if (isNew) await table.add(toRows(chunks, columns, column));
  else {
    // A merge keeps the values of columns that the rows lack, and metadata may have lost keys.
    const rows = toRows(chunks, extraColumns(await table.schema()), column);
    const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll();
    replaced = (await merge.execute(rows)).numUpdatedRows;
  }
  // Keyword search needs an index built from at least one row; it finds later rows by a scan.
  if (!(await tableFacts(table)).indexed.has('terms')) await buildTerms(table);
  return replaced;
}

/** Deletes the rows whose column has one of the ids. Returns their number. */
export async function deleteRows(table: Table, column: 'id' | 'document_id', ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const before = await table.countRows();
  for (let from = 0; from < ids.length; from += IDS_PER_DELETION) {
    await table.delete(columnIn(column, ids.slice(from, from + IDS_PER_DELETION)));
  }
  return before - (await table.countRows());
}
