/**
 * Rebuilds the indexes of a table with `ChunkIndex.maintain`: `node build-indexes.ts FOLDER BASE` prints `IndexTimes`
 * as JSON. A separate process, because an open table does not notice dropped indexes.
 */
import { connect } from '@lancedb/lancedb';
import { ChunkIndex } from '../../src/search/chunk-index.ts';

/** Duration of building each missing index; null for indexes that are not needed. */
export interface IndexTimes {
  terms: number | null;
  vector: number | null;
}

async function seconds(folder: string, baseId: string, column: keyof IndexTimes): Promise<number | null> {
  const table = await (await connect(folder)).openTable(baseId);
  const known = (await table.listIndices()).find(({ columns }) => columns.includes(column));
  if (known !== undefined) await table.dropIndex(known.name);
  table.close();
  const index = await ChunkIndex.open(folder);
  const began = performance.now();
  const steps = await index.maintain(baseId);
  const took = (performance.now() - began) / 1000;
  await index.close();
  return steps.includes(column === 'terms' ? 'buildTerms' : 'buildVectors') ? took : null;
}

const [folder = '', baseId = ''] = process.argv.slice(2);
const terms = await seconds(folder, baseId, 'terms');
console.log(JSON.stringify({ terms, vector: await seconds(folder, baseId, 'vector') } satisfies IndexTimes));
