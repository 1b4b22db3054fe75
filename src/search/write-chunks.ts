import type { Table } from '@lancedb/lancedb';
import { extraColumns, type IndexedChunk, rangeColumns, toRows } from './chunk-rows.ts';
import { addColumns, buildTerms, tableFacts } from './chunk-table.ts';
import { columnIn } from './filter.ts';

/** Ids per deletion. */
const IDS_PER_DELETION = 1000;

/**
 * Adds chunks to a table; unless `isNew`, in place of those with the same ids, in one step for searches. Returns the
 * number of replaced chunks.
 */
export async function writeChunks(table: Table, chunks: readonly IndexedChunk[], isNew: boolean): Promise<number> {
  if (chunks.length === 0) return 0;
  const columns = await addColumns(table, rangeColumns(chunks));
  let replaced = 0;
  if (isNew) await table.add(toRows(chunks, columns));
  else {
    // A merge needs a value for every column.
    const rows = toRows(chunks, extraColumns(await table.schema()));
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
