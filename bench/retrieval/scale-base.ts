import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEmbedded } from '../../src/db/embedded/open-embedded.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { connectService, ingestFiles } from '../harness/service-client.ts';
import { startOn } from './filled-base.ts';

/** Key of the benchmark's service, which only listens on the loopback interface. */
export const API_KEY = `quire-sk-${'5ca1e'.repeat(8)}`;

/** Progress of the fill of a folder, stored beside the data of the service. */
export interface ScaleState {
  baseId: string;
  /** Chunks in the index, beside those of the first document. */
  indexed: number;
  /** Chunks with rows in the database. */
  stored: number;
  writeMs: number;
  maintainMs: number;
  peakRssBytes: number;
  plain: { indexed: number; writeMs: number; buildMs: number; peakRssBytes: number };
}

const stateFile = (folder: string) => join(folder, 'scale-state.json');

/** Reads the state of a folder; creates the folder, a knowledge base and its first document when there is none. */
export async function openState(folder: string): Promise<ScaleState> {
  const text = await readFile(stateFile(folder), 'utf8').catch(() => null);
  if (text !== null) return JSON.parse(text) as ScaleState;
  await mkdir(folder, { recursive: true });
  const quire = await startOn({ folder, apiKey: API_KEY });
  try {
    const service = await connectService({ url: quire.origin, key: API_KEY });
    const { id: baseId } = await service.post<{ id: string }>('/v1/knowledge-bases', { name: 'scale' });
    const fileId = await service.upload('first.txt', 'The library opens at nine.', 'knowledge-base');
    await ingestFiles(service, baseId, [fileId]);
    const plain = { indexed: 0, writeMs: 0, buildMs: 0, peakRssBytes: 0 };
    const state = { baseId, indexed: 0, stored: 0, writeMs: 0, maintainMs: 0, peakRssBytes: 0, plain };
    await saveState(folder, state);
    return state;
  } finally {
    await quire.stop();
  }
}

/** Stores the state of a folder. */
export async function saveState(folder: string, state: ScaleState): Promise<void> {
  await writeFile(stateFile(folder), JSON.stringify(state));
}

/** Runs a task with the embedded database of a folder, while no service runs on it. */
export async function withDatabase<T>(
  folder: string,
  task: (database: Awaited<ReturnType<typeof openEmbedded>>) => Promise<T>,
): Promise<T> {
  const onGiveUp = (reason: string) => {
    throw new Error(reason);
  };
  const options = { folder: join(folder, 'postgres'), logger: createLogger('warn'), onGiveUp };
  const database = await openEmbedded(options);
  try {
    return await task(database);
  } finally {
    await database.close();
  }
}

/** Number and bytes of all files below a folder. */
export async function measureFolder(folder: string): Promise<{ files: number; bytes: number }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return { files: paths.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Peak resident memory of a process since its start, or since `resetPeak`. */
export function peakRss(pid: number | 'self' = 'self'): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kilobytes) * 1024;
}

/** Resets the peak of this process's resident memory. */
export function resetPeak(): void {
  writeFileSync('/proc/self/clear_refs', '5');
}
