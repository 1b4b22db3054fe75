import { join } from 'node:path';
import { connect, Index, type Table } from '@lancedb/lancedb';
import type { Database } from '../../src/db/db.ts';
import { ChunkIndex } from '../../src/search/chunk-index.ts';
import { BASE_SCHEMA, toRows } from '../../src/search/chunk-rows.ts';
import { logProgress } from '../harness/command.ts';
import { measureFolder, openState, peakRss, type ScaleState, saveState, withDatabase } from './scale-base.ts';
import { CHUNKS_PER_DOCUMENT, chunkText, documentId, indexedChunk } from './synthetic.ts';

/** Chunks of one write of the service (`src/knowledge-bases/ingestion/write-documents.ts`). */
const CHUNKS_PER_WRITE = 510;
/** Rows per statement. */
const ROWS_PER_INSERT = 5_000;
/** Name of the table of plain LanceDB. */
export const PLAIN_TABLE = 'plain';

/** What one run of a phase may do. */
export interface ScaleOptions {
  folder: string;
  chunks: number;
  /** Ends the phase after this time; the next run continues. */
  minutes: number;
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

function createDeadline(minutes: number): () => boolean {
  const until = performance.now() + minutes * 60_000;
  return () => performance.now() > until;
}

async function timed<T>(task: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const began = performance.now();
  const value = await task();
  return { ms: performance.now() - began, value };
}

/** Writes chunks as ingestion does, with maintenance after each write. Continues an earlier run. */
export async function fillIndex({ folder, chunks, minutes }: ScaleOptions): Promise<object> {
  const state = await openState(folder);
  const index = await ChunkIndex.open(join(folder, 'index'));
  const isOver = createDeadline(minutes);
  let slowestMs = 0;
  while (state.indexed < chunks && !isOver()) {
    const end = Math.min(chunks, state.indexed + CHUNKS_PER_WRITE);
    const batch = numbers(state.indexed, end).map(indexedChunk);
    const ids = [...new Set(batch.map((chunk) => chunk.documentId))];
    state.writeMs += (await timed(() => index.replace(state.baseId, ids, { chunks: batch, isNew: true }))).ms;
    const { ms, value } = await timed(() => index.maintain(state.baseId, true));
    state.maintainMs += ms;
    slowestMs = Math.max(slowestMs, ms);
    state.indexed = end;
    state.peakRssBytes = Math.max(state.peakRssBytes, peakRss());
    if (value.length > 0) {
      logProgress(`${end}: ${value} ${Math.round(ms)} ms, peak ${Math.round(peakRss() / 1e6)} MB`);
      await saveState(folder, state);
    }
  }
  const last = await timed(() => index.maintain(state.baseId));
  state.maintainMs += last.ms;
  state.peakRssBytes = Math.max(state.peakRssBytes, peakRss());
  await index.close();
  await saveState(folder, state);
  const seconds = (state.writeMs + state.maintainMs) / 1000;
  const { indexed } = state;
  return { state, chunksPerSecond: indexed / seconds, slowestMs, lastMs: last.ms, ...(await sizes(folder, state)) };
}

async function sizes(folder: string, { baseId }: ScaleState) {
  return { index: await measureFolder(join(folder, 'index', `${baseId}.lance`)) };
}

/** Adds the same rows to a table without maintenance, then builds the same indexes. */
export async function fillPlain({ folder, chunks, minutes }: ScaleOptions): Promise<object> {
  const state = await openState(folder);
  const connection = await connect(join(folder, 'plain'));
  const names = await connection.tableNames();
  const isNew = !names.includes(PLAIN_TABLE);
  const table = isNew
    ? await connection.createEmptyTable(PLAIN_TABLE, BASE_SCHEMA)
    : await connection.openTable(PLAIN_TABLE);
  const { plain } = state;
  const isOver = createDeadline(minutes);
  while (plain.indexed < chunks && !isOver()) {
    const end = Math.min(chunks, plain.indexed + CHUNKS_PER_WRITE);
    const rows = numbers(plain.indexed, end).map(indexedChunk);
    plain.writeMs += (await timed(() => table.add(toRows(rows, [], 'vector')))).ms;
    plain.indexed = end;
  }
  if (plain.indexed >= chunks && !isOver()) plain.buildMs = (await timed(() => buildPlain(table))).ms;
  plain.peakRssBytes = Math.max(plain.peakRssBytes, peakRss());
  table.close();
  await saveState(folder, state);
  const seconds = (plain.writeMs + plain.buildMs) / 1000;
  return { plain, chunksPerSecond: plain.indexed / seconds, ...(await measureFolder(join(folder, 'plain'))) };
}

async function buildPlain(table: Table): Promise<void> {
  const fts = Index.fts({ baseTokenizer: 'whitespace', stem: false, removeStopWords: false, withPosition: false });
  await table.createIndex('terms', { config: fts, replace: true });
  await table.createIndex('vector', { config: Index.ivfRq({ distanceType: 'cosine' }), replace: true });
  await table.createIndex('id', { config: Index.btree(), replace: true });
}

/** Stores the rows of the chunks that are in the index, as copies of the first document with other ids and texts. */
export async function fillDatabase({ folder, minutes }: ScaleOptions): Promise<object> {
  const state = await openState(folder);
  const isOver = createDeadline(minutes);
  const { ms } = await timed(() =>
    withDatabase(folder, async (database) => {
      while (state.stored < state.indexed && !isOver()) {
        const end = Math.min(state.indexed, state.stored + ROWS_PER_INSERT);
        await insertRows(database, state, end);
        state.stored = end;
        await saveState(folder, state);
      }
      await updateCounts(database, state.baseId);
      await database.execute('vacuum analyze');
    }),
  );
  return { stored: state.stored, ms, database: await measureFolder(join(folder, 'postgres')) };
}

async function insertRows(database: Database, { baseId, stored }: ScaleState, end: number): Promise<void> {
  const rows = numbers(stored, end).map((number) => ({
    id: `chunk_s${number}`,
    document_id: documentId(number),
    position: number % CHUNKS_PER_DOCUMENT,
    text: chunkText(number),
  }));
  const documents = [...new Set(rows.map((row) => row.document_id))].map((id) => ({
    id,
    item_key: id,
    name: `${id}.txt`,
    metadata: { shelf: `shelf-${Number(id.slice(5)) % 100}` },
    chunk_count: CHUNKS_PER_DOCUMENT,
  }));
  await copyRows(database, 'documents', baseId, documents);
  await copyRows(database, 'chunks', baseId, rows);
}

/** Inserts copies of the first row of the knowledge base, with the given columns. */
async function copyRows(database: Database, table: string, baseId: string, rows: readonly object[]): Promise<void> {
  await database.execute(
    `insert into ${table} select (jsonb_populate_record(original, made)).*
      from ${table} original, jsonb_array_elements($2::jsonb) made
      where original.id = (select id from ${table} where knowledge_base_id = $1 and id !~ '^(doc|chunk)_s[0-9]+$' limit 1)`,
    [baseId, JSON.stringify(rows)],
  );
}

async function updateCounts(database: Database, baseId: string): Promise<void> {
  await database.execute(
    `update knowledge_bases set
      document_count = (select count(*) from documents where knowledge_base_id = $1),
      chunk_count = (select count(*) from chunks where knowledge_base_id = $1) where id = $1`,
    [baseId],
  );
}
