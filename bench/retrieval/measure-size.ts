import { execFile } from 'node:child_process';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processTree, processUsage } from '../harness/process-usage.ts';
import type { IndexTimes } from './build-indexes.ts';
import type { ChromaRelease } from './chroma.ts';
import { type ChromaCollection, chromaCollection } from './chroma-collection.ts';
import { type FilledBase, startOn } from './filled-base.ts';
import { IndexClient } from './index-client.ts';
import type { SearchServer } from './load.ts';
import { type Contenders, type MeasurementPlan, measureLatency, measureRecall } from './measure.ts';
import type { SizeFigures } from './report.ts';

/** Idle time before memory is read, for a pending garbage collection. */
const SETTLE_MS = 3000;
const BUILD_LIMIT_MS = 3_600_000;

/** Measurement settings. */
export interface SizeSetting {
  plan: MeasurementPlan;
  queries: string[];
  /** Null without Chroma. */
  release: ChromaRelease | null;
  /** Keeps the indexes of the ingestion instead of rebuilding them. */
  keepIndexes: boolean;
  progress(line: string): void;
}

/** Measures all contenders on one filled folder. Stops all processes that it starts. */
export async function measureSize(base: FilledBase, setting: SizeSetting): Promise<SizeFigures> {
  const { release, progress } = setting;
  const stops: (() => void | Promise<void>)[] = [];
  try {
    if (!setting.keepIndexes) progress(`${base.chunks} chunks: indexes are built`);
    const built = setting.keepIndexes ? null : await buildIndexes(base);
    if (release !== null) progress(`${base.chunks} chunks: starting ${release.label}`);
    const chroma = release === null ? null : await chromaCollection(release, base);
    if (chroma !== null) stops.push(() => chroma.stop());
    const quire = await startOn(base);
    stops.push(() => quire.stop());
    const index = new IndexClient();
    stops.push(() => index.stop());
    const { folder, baseId, languages } = base;
    const { queries } = setting;
    const { vectors } = await index.open({ folder: join(folder, 'index'), baseId, languages, queries });
    const server: SearchServer = {
      name: 'Quire',
      origin: quire.origin,
      headers: { authorization: `Bearer ${base.apiKey}` },
      path: `/v1/knowledge-bases/${baseId}/retrieve`,
      pid: quire.pid,
    };
    const field = { quire: server, index, chroma: serverOf(chroma), queries, vectors };
    return { ...(await figuresOf(field, base, setting)), built, ...(await chromaFacts(chroma)) };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

function serverOf(chroma: ChromaCollection | null): Contenders['chroma'] {
  if (chroma === null) return null;
  const { label: name, origin, path, pid, folder } = chroma;
  return { name, origin, headers: {}, path, pid, folder };
}

async function chromaFacts(chroma: ChromaCollection | null): Promise<Pick<SizeFigures, 'chroma'>> {
  return { chroma: chroma === null ? null : { label: chroma.label, fillSeconds: chroma.seconds } };
}

async function figuresOf(
  field: Contenders,
  base: FilledBase,
  { plan, progress }: SizeSetting,
): Promise<Omit<SizeFigures, 'built' | 'chroma'>> {
  const memory: SizeFigures['memory'] = [];
  const note = async (when: string): Promise<void> => {
    await pause(SETTLE_MS);
    for (const server of [field.quire, field.chroma]) {
      if (server === null) continue;
      memory.push({ what: `${server.name}, ${when}`, bytes: processUsage(processTree(server.pid))?.rssBytes });
    }
  };
  await note('started');
  progress(`${base.chunks} chunks: recall`);
  const recall = await measureRecall(field, plan.recallQueries);
  const windows = await measureLatency(field, plan, (line) => progress(`${base.chunks} chunks: ${line}`));
  await note('after the load');
  return {
    chunks: base.chunks,
    documents: base.documents,
    fillSeconds: base.seconds,
    bytes: {
      index: await bytesOf(join(base.folder, 'index')),
      database: await bytesOf(join(base.folder, 'postgres')),
      chroma: field.chroma === null ? null : await bytesOf(field.chroma.folder),
    },
    memory,
    recall,
    windows,
  };
}

async function buildIndexes({ folder, baseId }: FilledBase): Promise<IndexTimes> {
  const args = [join(import.meta.dirname, 'build-indexes.ts'), join(folder, 'index'), baseId];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: BUILD_LIMIT_MS });
  return JSON.parse(stdout) as IndexTimes;
}

async function bytesOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  // The service may delete a file meanwhile.
  const sizes = await Promise.all(
    files.map((file) =>
      lstat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
