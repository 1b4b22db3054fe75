import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ChunkIndex } from '../../src/search/chunk-index.ts';
import { logProgress } from '../harness/command.ts';
import { quantile } from '../harness/statistics.ts';
import { repeat } from './repeat.ts';
import { measureFolder, peakRss } from './scale-base.ts';
import type { ScaleOptions } from './scale-fill.ts';
import { chunkVector, indexedChunk, queryText } from './synthetic.ts';

const CHUNKS_PER_BASE = 20;
const SEARCH_SECONDS = 10;
const DELETIONS = 100;
const IDLE_SECONDS = 20;
/** Knowledge bases written at a time, as by that many ingestion jobs. */
const CONCURRENT_WRITES = 4;

/** Number of knowledge bases; `--chunks` is the total of their chunks. */
export async function measureBases({ folder, chunks }: ScaleOptions): Promise<object> {
  const count = Math.max(1, Math.floor(chunks / CHUNKS_PER_BASE));
  const root = join(folder, 'bases');
  await mkdir(root, { recursive: true });
  let index = await ChunkIndex.open(root);
  const began = performance.now();
  let next = 0;
  const fill = async () => {
    while (next < count) {
      const base = next++;
      await fillBase(index, base);
      if (base % 500 === 0) logProgress(`${base} knowledge bases, peak ${Math.round(peakRss() / 1e6)} MB`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_WRITES }, fill));
  const fillSeconds = (performance.now() - began) / 1000;
  await index.close();
  const filled = await measureFolder(root);
  const reopening = performance.now();
  index = await ChunkIndex.open(root);
  const openMs = performance.now() - reopening;
  const windows = await measureWindows(index, count);
  const rssBytes = process.memoryUsage.rss();
  const cpu = process.cpuUsage();
  await pause(IDLE_SECONDS * 1000);
  const { user, system } = process.cpuUsage(cpu);
  const idleCpu = (user + system) / 1e6 / IDLE_SECONDS;
  const deletionMs: number[] = [];
  for (let base = 0; base < Math.min(DELETIONS, count); base++) {
    const start = performance.now();
    await index.drop(`kb_${base}`);
    deletionMs.push(performance.now() - start);
  }
  await index.close();
  const peakRssBytes = peakRss();
  const deletion = { p50Ms: quantile(deletionMs, 0.5), p99Ms: quantile(deletionMs, 0.99) };
  return { count, fillSeconds, filled, openMs, windows, rssBytes, peakRssBytes, idleCpu, deletion };
}

async function fillBase(index: ChunkIndex, base: number): Promise<void> {
  const chunks = Array.from({ length: CHUNKS_PER_BASE }, (_, i) => indexedChunk(base * CHUNKS_PER_BASE + i));
  const ids = [...new Set(chunks.map(({ documentId }) => documentId))];
  await index.replace(`kb_${base}`, ids, { chunks, isNew: true });
  await index.maintain(`kb_${base}`);
}

/** Searches of knowledge bases in random order, so that most tables must be opened. */
async function measureWindows(index: ChunkIndex, count: number): Promise<object[]> {
  const { signal } = new AbortController();
  const windows: object[] = [];
  for (const way of ['vector', 'keyword', 'hybrid']) {
    for (const atOnce of [1, 16]) {
      const { latenciesMs, seconds } = await repeat({ atOnce, seconds: SEARCH_SECONDS }, 1_000_000, async (place) => {
        const base = (place * 7919) % count;
        const began = performance.now();
        await index.search(`kb_${base}`, {
          vector: way === 'keyword' ? null : chunkVector(place),
          text: way === 'vector' ? null : queryText(place),
          languages: ['en'],
          conditions: [],
          limit: 100,
          signal,
        });
        return performance.now() - began;
      });
      const perSecond = latenciesMs.length / seconds;
      windows.push({ way, atOnce, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99), perSecond });
    }
  }
  return windows;
}
