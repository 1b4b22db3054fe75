import { MatchQuery, type Table } from '@lancedb/lancedb';
import { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';
import { vectorColumns } from './chunk-rows.ts';
import { tableFacts } from './chunk-table.ts';

/**
 * Finds missing or damaged files of a table: reads a column of every row, and one entry of each index. LanceDB reads
 * the footer at the end of a file first, so a truncated file always fails. Returns the number of rows per document.
 * Throws the error of LanceDB.
 */
export async function scanTable(table: Table): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for await (const batch of table.query().select(['document_id'])) {
    const ids = batch.getChild('document_id');
    for (let i = 0; i < batch.numRows; i += 1) {
      const id = String(ids?.get(i));
      rows.set(id, (rows.get(id) ?? 0) + 1);
    }
  }
  const { indexed } = await tableFacts(table);
  const zero = new Array<number>(EMBEDDING_DIMENSIONS).fill(0);
  for (const column of rows.size > 0 ? vectorColumns(await table.schema()) : []) {
    await table.query().nearestTo(zero).column(column).limit(1).select(['id', '_distance']).toArrow();
  }
  if (indexed.has('terms')) {
    await table.query().fullTextSearch(new MatchQuery('a', 'terms')).limit(1).select(['id', '_score']).toArrow();
  }
  for (const column of ['id', 'document_id']) {
    if (indexed.has(column)) await table.query().where(`${column} = ''`).limit(1).select(['id']).toArrow();
  }
  return rows;
}
