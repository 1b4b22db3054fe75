/**
 * Builds the indexes of a table again as the product's maintain does: `node build-indexes.ts FOLDER BASE` prints `IndexTimes` as JSON.
 * A process of its own: who has the table open does not see that an index is gone.
 */
import { connect } from '@lancedb/lancedb';
import { ChunkIndex } from '../../src/search/chunk-index.ts';

/** How long the maintain took to build each index where there was none; null where it does without. */
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
