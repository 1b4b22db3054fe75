import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Language } from '../../src/search/languages.ts';
import { showProgress } from '../harness/command.ts';
import { type RunningQuire, startQuire } from '../harness/quire-process.ts';
import { connectService, ingestFiles, type ServiceClient } from '../harness/service-client.ts';
import { type BenchDocument, languagesOf } from './documents.ts';

/** A data folder with one filled knowledge base. */
export interface FilledBase {
  /** The service's data folder. */
  folder: string;
  apiKey: string;
  baseId: string;
  documents: number;
  chunks: number;
  languages: Language[];
  /** From the first upload to the end of the last ingestion job. */
  seconds: number;
}

const ROOT = join(import.meta.dirname, '../..');
/** Code and models that determine the stored data: a change invalidates filled folders. */
const STORED_BY = [
  'packages/bundled-models/models/quire-embed-1.bin',
  'src/db/migrations',
  'src/search',
  'src/chunking',
];
/** Chunks of about 600 characters, so that the corpora suffice for 200,000. */
const CHUNKING = { type: 'recursive', chunk_size: 128, chunk_overlap: 0 };
/** Documents of the first upload, which determines the chunks per document, and of the largest one. */
const FIRST_DOCUMENTS = 50;
const MOST_DOCUMENTS = 2000;

/** Starts the service on a filled folder. */
export async function startOn({ folder, apiKey }: Pick<FilledBase, 'folder' | 'apiKey'>): Promise<RunningQuire> {
  const settings = {
    QUIRE_DATA_DIR: folder,
    QUIRE_BOOTSTRAP_API_KEY: apiKey,
    QUIRE_LOCAL_CALIBRATION: 'off',
  };
  return { ...(await startQuire(undefined, [], settings)), apiKey };
}

/**
 * Fills a folder in `root` with at least `chunks` chunks by ingestion, or reuses an existing one. Throws when the
 * documents do not suffice.
 */
export async function filledBase(
  root: string,
  size: number,
  documents: () => readonly BenchDocument[],
): Promise<FilledBase> {
  const folder = join(root, `${size}-${await fingerprint()}`);
  const marker = join(folder, 'filled.json');
  const known = await readFile(marker, 'utf8').catch(() => null);
  if (known !== null) return { ...(JSON.parse(known) as FilledBase), folder };
  await removeSize(root, size);
  await mkdir(folder, { recursive: true });
  const apiKey = `quire-sk-${randomBytes(20).toString('hex')}`;
  const quire = await startOn({ folder, apiKey });
  try {
    const service = await connectService({ url: quire.origin, key: apiKey });
    const filled = { folder, apiKey, ...(await fill(service, size, documents())) };
    await writeFile(marker, JSON.stringify(filled));
    return filled;
  } finally {
    await quire.stop();
  }
}

/** Removes folders filled by other code or incompletely. */
async function removeSize(root: string, size: number): Promise<void> {
  const names = await readdir(root).catch(() => []);
  for (const name of names.filter((known) => known.startsWith(`${size}-`))) {
    await rm(join(root, name), { recursive: true, force: true });
  }
}

async function fill(
  service: ServiceClient,
  size: number,
  documents: readonly BenchDocument[],
): Promise<Omit<FilledBase, 'folder' | 'apiKey'>> {
  const { id: baseId } = await service.post<{ id: string }>('/v1/knowledge-bases', {
    name: 'bench',
    chunking_strategy: CHUNKING,
  });
  const began = performance.now();
  let sent = 0;
  let chunks = 0;
  while (chunks < size) {
    const perDocument = sent === 0 ? 0 : chunks / sent;
    const missing = perDocument === 0 ? FIRST_DOCUMENTS : Math.ceil((size - chunks) / perDocument);
    const some = documents.slice(sent, sent + Math.min(MOST_DOCUMENTS, missing));
    if (some.length === 0) throw new Error(`all documents together come to ${chunks} chunks, not ${size}`);
    await ingest(service, baseId, some);
    sent += some.length;
    chunks = (await service.get<{ chunk_count: number }>(`/v1/knowledge-bases/${baseId}`)).chunk_count;
    showProgress(Math.min(chunks, size), size, 'chunks');
  }
  const seconds = (performance.now() - began) / 1000;
  return { baseId, documents: sent, chunks, languages: languagesOf(documents.slice(0, sent)), seconds };
}

async function ingest(service: ServiceClient, baseId: string, documents: readonly BenchDocument[]): Promise<void> {
  const content = documents.map((document) => JSON.stringify(document)).join('\n');
  const fileId = await service.upload('documents.jsonl', content, 'knowledge-base');
  const { job } = await ingestFiles(service, baseId, [fileId]);
  if (job.status === 'failed') throw new Error('the ingestion failed');
}

/** Fingerprint of the code and the model. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(CHUNKING));
  for (const path of STORED_BY) for (const file of await filesOf(join(ROOT, path))) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}

async function filesOf(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true }).catch(() => null);
  if (entries === null) return [path];
  const files = entries.filter((entry) => entry.isFile() && !entry.name.includes('.test.'));
  return files.map((entry) => join(entry.parentPath, entry.name)).sort();
}
