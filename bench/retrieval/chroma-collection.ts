import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import type { RunningChild } from '../harness/child-process.ts';
import { showProgress } from '../harness/command.ts';
import { connectService, type ServiceClient } from '../harness/service-client.ts';
import { type ChromaRelease, startChroma } from './chroma.ts';
import { type FilledBase, startOn } from './filled-base.ts';

/** A running Chroma with one collection: the chunks of a knowledge base, their vectors, texts and metadata. */
export interface ChromaCollection extends RunningChild {
  label: string;
  /** Its data folder. */
  folder: string;
  /** Base URL for queries. */
  path: string;
  /** Duration of the import. */
  seconds: number;
}

interface Filled {
  path: string;
  seconds: number;
}

const COLLECTIONS = '/api/v2/tenants/default_tenant/databases/default_database/collections';
/** Chunks per request: a vector has about 20 KB as JSON. */
const CHUNKS_OF_A_REQUEST = 500;
/** Documents per list page, and concurrent requests for their chunks. */
const PAGE = 100;
const AT_ONCE = 4;
const START_TRIES = 100;
const TRY_MS = 100;

/** Imports the chunks of `base` into Chroma; reuses an existing folder. */
export async function chromaCollection(release: ChromaRelease, base: FilledBase): Promise<ChromaCollection> {
  const folder = join(base.folder, `${release.label.toLowerCase().replace(' ', '-')}`);
  const marker = `${folder}.json`;
  const known = await readFile(marker, 'utf8').catch(() => null);
  if (known === null) await rm(folder, { recursive: true, force: true });
  const texts = known === null ? await textsOf(base) : null;
  const server = await startChroma(release, folder);
  try {
    await answers(server.origin);
    const filled = texts === null ? (JSON.parse(known ?? '') as Filled) : await fill(server.origin, base, texts);
    await writeFile(marker, JSON.stringify(filled));
    return { ...server, label: release.label, folder, ...filled };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function answers(origin: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const answer = await fetch(`${origin}/api/v2/heartbeat`).catch(() => null);
    if (answer?.ok) return;
    if (tries === START_TRIES) throw new Error('Chroma does not answer');
    await pause(TRY_MS);
  }
}

async function post<T>(url: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`Chroma: ${answer.status} ${(await answer.text()).slice(0, 200)}`);
  return (await answer.json()) as T;
}

interface StoredChunk {
  id: string;
  vector: Float32Array;
}

async function fill(origin: string, base: FilledBase, texts: ReadonlyMap<string, ChunkText>): Promise<Filled> {
  const configuration = { hnsw: { space: 'cosine' } };
  const { id } = await post<{ id: string }>(`${origin}${COLLECTIONS}`, { name: 'bench', configuration });
  const path = `${COLLECTIONS}/${id}/query`;
  const began = performance.now();
  let done = 0;
  for await (const chunks of storedChunks(base)) {
    const known = chunks.map((chunk) => ({ ...chunk, ...(texts.get(chunk.id) ?? { text: '', metadata: {} }) }));
    await post(`${origin}${COLLECTIONS}/${id}/add`, {
      ids: known.map((chunk) => chunk.id),
      embeddings: known.map(({ vector }) => Array.from(vector)),
      documents: known.map(({ text }) => text),
      metadatas: known.map(({ metadata }) => metadata),
    });
    done += chunks.length;
    showProgress(done, base.chunks, 'chunks into Chroma');
  }
  return { path, seconds: (performance.now() - began) / 1000 };
}

async function* storedChunks({ folder, baseId }: FilledBase): AsyncGenerator<StoredChunk[]> {
  const connection = await connect(join(folder, 'index'));
  const table = await connection.openTable(baseId);
  let chunks: StoredChunk[] = [];
  for await (const batch of table.query().select(['id', 'vector'])) {
    for (const { id, vector } of batch) {
      chunks.push({ id, vector: vector.toArray() });
      if (chunks.length < CHUNKS_OF_A_REQUEST) continue;
      yield chunks;
      chunks = [];
    }
  }
  if (chunks.length > 0) yield chunks;
  table.close();
  connection.close();
}

interface ChunkText {
  text: string;
  metadata: Record<string, unknown>;
}

/** Texts of all chunks and metadata of their documents, from the service's lists. */
async function textsOf(base: FilledBase): Promise<Map<string, ChunkText>> {
  const quire = await startOn(base);
  try {
    const service = await connectService({ url: quire.origin, key: base.apiKey });
    const texts = new Map<string, ChunkText>();
    const documents = `/v1/knowledge-bases/${base.baseId}/documents`;
    let read = 0;
    for await (const page of pagesOf<{ id: string; metadata: Record<string, unknown> }>(service, documents)) {
      const waiting = page.values();
      const reader = async (): Promise<void> => {
        for (const { id, metadata } of waiting) {
          for await (const chunks of pagesOf<{ id: string; text: string }>(service, `${documents}/${id}/chunks`)) {
            for (const chunk of chunks) texts.set(chunk.id, { text: chunk.text, metadata });
          }
          showProgress(++read, base.documents, 'documents listed');
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, reader));
    }
    return texts;
  } finally {
    await quire.stop();
  }
}

async function* pagesOf<T extends { id: string }>(service: ServiceClient, path: string): AsyncGenerator<T[]> {
  let after = '';
  for (;;) {
    const list = await service.get<{ data: T[]; has_more: boolean }>(`${path}?limit=${PAGE}${after}`);
    yield list.data;
    if (!list.has_more) return;
    after = `&after=${list.data.at(-1)?.id}`;
  }
}
