import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import { ChunkIndex } from '../../src/search/chunk-index.ts';
import { toRows } from '../../src/search/chunk-rows.ts';
import { logProgress } from '../harness/command.ts';
import { quantile } from '../harness/statistics.ts';
import { measureFolder, openState, peakRss } from './scale-base.ts';
import { PLAIN_TABLE, type ScaleOptions } from './scale-fill.ts';
import { CHUNKS_PER_DOCUMENT, documentId, indexedChunk } from './synthetic.ts';

/** Updates of a day: one every minute. */
const UPDATES = 1440;
const REPORT_EVERY = 120;
/** Old versions are removed a minute after a compaction (`src/search/chunk-index.ts`). */
const CLEANUP_MS = 65_000;

/** Replaces one document per update, with the maintenance that follows each ingestion job. */
export async function measureUpdates({ folder, minutes }: ScaleOptions): Promise<object> {
  const { baseId, indexed } = await openState(folder);
  const tableFolder = join(folder, 'index', `${baseId}.lance`);
  const index = await ChunkIndex.open(join(folder, 'index'));
  const until = performance.now() + minutes * 60_000;
  const before = await measureFolder(tableFolder);
  const times: { writeMs: number[]; maintainMs: number[] } = { writeMs: [], maintainMs: [] };
  const growth: object[] = [];
  const cpu = process.cpuUsage();
  let updates = 0;
  for (; updates < UPDATES && performance.now() < until; updates++) {
    const first = ((updates * 7919) % (indexed / CHUNKS_PER_DOCUMENT)) * CHUNKS_PER_DOCUMENT;
    const chunks = Array.from({ length: CHUNKS_PER_DOCUMENT }, (_, i) => indexedChunk(first + i));
    const began = performance.now();
    await index.replace(baseId, [documentId(first)], { chunks, isNew: false });
    const written = performance.now();
    await index.maintain(baseId);
    times.writeMs.push(written - began);
    times.maintainMs.push(performance.now() - written);
    if (updates % REPORT_EVERY === 0) {
      growth.push({ updates, ...(await measureFolder(tableFolder)) });
      logProgress(`${updates} updates, last maintenance ${Math.round(times.maintainMs.at(-1) ?? 0)} ms`);
    }
  }
  const { user, system } = process.cpuUsage(cpu);
  const peakRssBytes = peakRss();
  await pause(CLEANUP_MS);
  const after = await measureFolder(tableFolder);
  await index.close();
  const cpuMsPerUpdate = (user + system) / 1000 / updates;
  const shared = { before, growth, after, peakRssBytes, cpuMsPerUpdate };
  return {
    updates,
    write: summarize(times.writeMs),
    maintain: summarize(times.maintainMs),
    ...shared,
    plain: await updatePlain(folder, updates),
  };
}

const summarize = (values: number[]) => ({ p50Ms: quantile(values, 0.5), p99Ms: quantile(values, 0.99) });

/** The same updates of plain LanceDB, which compacts nothing by itself. */
async function updatePlain(folder: string, updates: number): Promise<object | null> {
  const connection = await connect(join(folder, 'plain'));
  if (!(await connection.tableNames()).includes(PLAIN_TABLE)) return null;
  const { plain } = await openState(folder);
  const table = await connection.openTable(PLAIN_TABLE);
  const before = await measureFolder(join(folder, 'plain'));
  const writeMs: number[] = [];
  for (let update = 0; update < updates; update++) {
    const first = ((update * 7919) % (plain.indexed / CHUNKS_PER_DOCUMENT)) * CHUNKS_PER_DOCUMENT;
    const chunks = Array.from({ length: CHUNKS_PER_DOCUMENT }, (_, i) => indexedChunk(first + i));
    const began = performance.now();
    const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll();
    await merge.execute(toRows(chunks, [], 'vector'));
    writeMs.push(performance.now() - began);
  }
  table.close();
  return { before, after: await measureFolder(join(folder, 'plain')), write: summarize(writeMs) };
}
