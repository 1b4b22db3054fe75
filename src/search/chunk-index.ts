import { join } from 'node:path';
import { type Connection, connect, Session, type Table } from '@lancedb/lancedb';
import { requireWritable } from '../lib/writable-folder.ts';
import { BASE_SCHEMA, type IndexedChunk, rangeColumnsOf, rowsOf } from './chunk-rows.ts';
import {
  addColumns,
  buildLookups,
  buildTerms,
  buildVectors,
  type ChunkHit,
  forgetFacts,
  knownOf,
  matches,
  nearest,
  vectorsOf,
  whereIn,
} from './chunk-table.ts';
import { type Condition, oneOf } from './filter.ts';
import type { Language } from './languages.ts';
import { scanTable } from './scan-table.ts';
import { FileSyncer } from './sync-files.ts';
import { queryTerms } from './terms.ts';
import { FLAT_ROWS, type TableState, type UpkeepStep, upkeepOf } from './upkeep.ts';

/** What is looked for by its words. */
export interface ChunkText {
  text: string;
  /** Those that the documents are written in: a query's words are looked for in the stems of each. */
  languages: readonly Language[];
}

/** What to search for. With both a vector and a text, every hit has both scores, or a bound of that of its words. */
export interface ChunkSearch extends Omit<ChunkText, 'text'> {
  /** 1024 floats, L2-normalised. */
  vector: Float32Array | null;
  text: string | null;
  /** What a chunk must be to be looked at, applied before anything is scored. */
  conditions: readonly Condition[];
  /** The best so many by vector, and the best so many by text. */
  limit: number;
}

/** Versions of a table that are older are removed: nothing reads them. */
const KEPT_VERSIONS_MS = 60_000;
/** Bounds of LanceDB's caches, which are 6 GiB and 1 GiB unless set. */
export interface IndexCaches {
  /** Parts of indexes that were read. Those of 200,000 chunks take 128 MB. */
  indexMb: number;
  /** Where rows lie. */
  metadataMb: number;
}

const DEFAULT_CACHES: IndexCaches = { indexMb: 512, metadataMb: 128 };
const BYTES_PER_MB = 1_048_576n;
/** How long another process's writes may stay unseen, where the index lies in a shared store. */
const SHARED_CONSISTENCY_SECONDS = 1;

/** Tables that stay open. Each remembers where its rows lie; one more is opened in some milliseconds. */
const MAX_OPEN_TABLES = 256;

/** Runs a task while no other process runs one of the same name. */
export type Lock = <T>(name: string, task: () => Promise<T>) => Promise<T>;

/** Where an index lies and how it is opened. */
export interface IndexOptions {
  /** Options of the object store: `aws_endpoint` and such. */
  storage?: Record<string, string>;
  caches?: IndexCaches;
  /**
   * Excludes the writers of other processes on a shared store. LanceDB detects their conflicts, but fails compaction, the creation of
   * tables and of indexes then.
   */
  lock?: Lock;
}

/**
 * The search index: a LanceDB table for each knowledge base, in a folder or an object store. It holds nothing that the database
 * could not give again. Writes to one table follow each other; searches never wait for them.
 */
export class ChunkIndex {
  readonly #connection: Connection;
  /** Null where the index lies in a shared store. */
  readonly #folder: string | null;
  readonly #lock: Lock | null;
  readonly #files = new FileSyncer();
  /** The one that was used last is the last. */
  readonly #tables = new Map<string, Promise<Table>>();
  /** The last write of each table, which the next one waits for. */
  readonly #writes = new Map<string, Promise<unknown>>();
  /** What removes the versions of tables that were compacted a moment ago. */
  readonly #cleanups = new Map<string, NodeJS.Timeout>();
  /** Rows that were deleted since the keyword index was last built, as far as this process knows. */
  readonly #deleted = new Map<string, number>();

  private constructor(connection: Connection, folder: string | null, lock: Lock | null) {
    this.#connection = connection;
    this.#folder = folder;
    this.#lock = lock;
  }

  /** Opens the index at a folder, which no other process may have open, or at an `s3://` URL. */
  static async open(
    url: string,
    { storage = {}, caches = DEFAULT_CACHES, lock }: IndexOptions = {},
  ): Promise<ChunkIndex> {
    const isShared = url.includes('://');
    const options = {
      storageOptions: storage,
      ...(isShared && { readConsistencyInterval: SHARED_CONSISTENCY_SECONDS }),
    };
    const session = new Session(BigInt(caches.indexMb) * BYTES_PER_MB, BigInt(caches.metadataMb) * BYTES_PER_MB);
    const index = new ChunkIndex(await connect(url, options, session), isShared ? null : url, lock ?? null);
    if (!isShared) await index.#files.skipExisting(url);
    return index;
  }

  /** Throws where the store cannot be read, or a folder cannot be written to. */
  async check(): Promise<void> {
    await this.#connection.tableNames({ limit: 1 });
    if (this.#folder !== null) await requireWritable(this.#folder);
  }

  /** Ends the use of the index once all writes have ended. */
  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.values()) clearTimeout(cleanup);
    await Promise.allSettled(this.#writes.values());
    for (const table of this.#tables.values()) (await table.catch(() => null))?.close();
    this.#connection.close();
  }

  /**
   * Makes `chunks` all that the index holds of the documents. `isNew` says that it holds nothing of them yet, which saves looking.
   * May be called twice with the same.
   */
  async replace(
    baseId: string,
    documentIds: readonly string[],
    { chunks, isNew }: { chunks: readonly IndexedChunk[]; isNew: boolean },
  ): Promise<void> {
    await this.#inTurn(baseId, async () => {
      const table = await this.#table(baseId);
      if (!isNew) await this.#deleteFrom(baseId, table, documentIds);
      if (chunks.length === 0) return;
      const rangeColumns = await addColumns(table, rangeColumnsOf(chunks));
      await table.add(rowsOf(chunks, rangeColumns));
      // Keyword search needs an index that has seen a row; later rows are found without being in it.
      if (!(await knownOf(table)).indexed.has('terms')) await buildTerms(table);
    });
  }

  /** The vectors that the index holds of the documents' chunks, by the chunks' ids: for writing them again with other fields. */
  async vectors(baseId: string, documentIds: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    const table = await this.#known(baseId);
    return table === null ? new Map() : vectorsOf(table, documentIds);
  }

  /** Forgets documents. May be called twice. */
  async remove(baseId: string, documentIds: readonly string[]): Promise<void> {
    await this.#inTurn(baseId, async () => {
      const table = await this.#known(baseId);
      if (table !== null) await this.#deleteFrom(baseId, table, documentIds);
    });
  }

  /** Forgets a knowledge base. May be called twice. */
  async drop(baseId: string): Promise<void> {
    await this.#inTurn(baseId, async () => {
      // Let go of and not closed: a search may still be reading it.
      this.#tables.delete(baseId);
      this.#deleted.delete(baseId);
      if (await this.#exists(baseId)) await this.#connection.dropTable(baseId);
    });
  }

  /**
   * Reads the index of a knowledge base from its files, and returns the number of chunks of each document. Throws what LanceDB throws when a
   * file is missing or damaged.
   */
  async scan(baseId: string): Promise<ReadonlyMap<string, number>> {
    // A table that is open may know the files from memory.
    this.#tables.delete(baseId);
    const table = await this.#known(baseId);
    return table === null ? new Map() : scanTable(table);
  }

  /** Chunks that the index holds of a knowledge base. */
  async count(baseId: string): Promise<number> {
    return (await this.#known(baseId))?.countRows() ?? 0;
  }

  /** The best chunks, in no particular order. A knowledge base without chunks has none. */
  async search(baseId: string, search: ChunkSearch): Promise<ChunkHit[]> {
    const table = await this.#known(baseId);
    if (table === null) return [];
    if (!(await knownOf(table)).indexed.has('terms')) return [];
    const where = await whereIn(table, search.conditions);
    const words = search.text === null ? [] : queryTerms(search.text, search.languages);
    const [near, matching] = await Promise.all([
      search.vector === null ? [] : nearest(table, search.vector, { where, limit: search.limit }),
      words.length === 0 ? [] : matches(table, words, { where, limit: search.limit, vector: search.vector }),
    ]);
    const hits = new Map<string, ChunkHit>();
    const unseen = bm25OfUnseen(matching, search.limit);
    for (const { id, cosine } of near) {
      hits.set(id, { id, cosine, bm25: search.text === null ? null : unseen, isBound: unseen > 0 });
    }
    for (const { id, cosine, bm25 } of matching) {
      hits.set(id, { id, cosine: hits.get(id)?.cosine ?? cosine, bm25, isBound: false });
    }
    return [...hits.values()];
  }

  /** BM25 of the text in those of the chunks that have any of its words: the same as a search gives. */
  async bm25Of(
    baseId: string,
    ids: readonly string[],
    { text, languages }: ChunkText,
  ): Promise<ReadonlyMap<string, number>> {
    const table = await this.#known(baseId);
    const words = queryTerms(text, languages);
    if (table === null || words.length === 0 || ids.length === 0) return new Map();
    const found = await matches(table, words, { where: oneOf('id', ids), limit: ids.length, vector: null });
    return new Map(found.map(({ id, bm25 }) => [id, bm25]));
  }

  /**
   * Does what keeps searches fast and scores exact: builds indexes, compacts, removes old versions. To be called after writing, in the
   * background; `isBusy` while more will be written soon. Says what was done.
   */
  async upkeep(baseId: string, isBusy = false): Promise<UpkeepStep[]> {
    return this.#inTurn(baseId, async () => {
      const table = await this.#known(baseId);
      if (table === null) return [];
      const steps = upkeepOf(await this.#stateOf(baseId, table), isBusy);
      for (const step of steps) {
        if (step === 'buildTerms') {
          await buildTerms(table);
          this.#deleted.delete(baseId);
        }
        if (step === 'buildVectors') await buildVectors(table);
        if (step === 'buildLookups') await buildLookups(table);
        if (step === 'optimize') await this.#optimize(baseId, table);
      }
      return steps;
    });
  }

  /** Builds the indexes again from nothing and compacts: for when all vectors are other ones. May be called twice. */
  async rebuild(baseId: string): Promise<void> {
    await this.#inTurn(baseId, async () => {
      const table = await this.#known(baseId);
      if (table === null || (await table.countRows()) === 0) return;
      if ((await knownOf(table)).indexed.has('vector')) await table.dropIndex('vector_idx');
      await this.#optimize(baseId, table);
      await buildTerms(table);
      this.#deleted.delete(baseId);
      if ((await table.countRows()) >= FLAT_ROWS) {
        await buildVectors(table);
        await buildLookups(table);
      }
    });
  }

  async #stateOf(baseId: string, table: Table): Promise<TableState> {
    const [rows, { indexed }, stats, terms, vectors] = await Promise.all([
      table.countRows(),
      knownOf(table),
      table.stats(),
      table.indexStats('terms_idx'),
      table.indexStats('vector_idx'),
    ]);
    return {
      rows,
      deletedSinceBuild: this.#deleted.get(baseId) ?? 0,
      unindexedTerms: terms?.numUnindexedRows ?? null,
      unindexedVectors: vectors?.numUnindexedRows ?? null,
      hasLookups: indexed.has('labels'),
      fragments: stats.fragmentStats.numFragments,
    };
  }

  async #deleteFrom(baseId: string, table: Table, documentIds: readonly string[]): Promise<void> {
    if (documentIds.length === 0) return;
    const before = await table.countRows();
    await table.delete(oneOf('document_id', documentIds));
    this.#deleted.set(baseId, (this.#deleted.get(baseId) ?? 0) + before - (await table.countRows()));
  }

  /** The table of a knowledge base; null where nothing was written yet: asking makes none. */
  async #known(baseId: string): Promise<Table | null> {
    if (!this.#tables.has(baseId) && !(await this.#exists(baseId))) return null;
    return this.#table(baseId);
  }

  /** The table of a knowledge base, made on first use. */
  #table(baseId: string): Promise<Table> {
    const table = this.#tables.get(baseId) ?? this.#openOrMake(baseId);
    const isOpen = this.#tables.delete(baseId);
    this.#tables.set(baseId, table);
    if (isOpen) return table;
    table.catch(() => this.#tables.delete(baseId));
    // As in `drop`, not closed.
    const [oldest] = this.#tables.keys();
    if (this.#tables.size > MAX_OPEN_TABLES && oldest !== undefined) this.#tables.delete(oldest);
    return table;
  }

  async #openOrMake(baseId: string): Promise<Table> {
    if (await this.#exists(baseId)) return this.#connection.openTable(baseId);
    return this.#connection.createEmptyTable(baseId, BASE_SCHEMA);
  }

  async #exists(baseId: string): Promise<boolean> {
    const names = await this.#connection.tableNames({ startAfter: baseId.slice(0, -1), limit: 1000 });
    return names.includes(baseId);
  }

  async #inTurn<T>(baseId: string, write: () => Promise<T>): Promise<T> {
    const writeAndForget = () => this.#exclusively(baseId, write).finally(() => this.#forgetFacts(baseId));
    const turn = (this.#writes.get(baseId) ?? Promise.resolve()).then(writeAndForget);
    const settled = turn.then(
      () => {},
      () => {},
    );
    this.#writes.set(baseId, settled);
    // The last one leaves nothing behind: there may be any number of knowledge bases.
    void settled.then(() => this.#writes.get(baseId) === settled && this.#writes.delete(baseId));
    return turn;
  }

  async #exclusively<T>(baseId: string, write: () => Promise<T>): Promise<T> {
    if (this.#folder !== null) {
      const written = await write();
      await this.#files.sync(join(this.#folder, `${baseId}.lance`));
      return written;
    }
    if (this.#lock === null) return write();
    return this.#lock(`index of ${baseId}`, async () => {
      await this.#readLatest(baseId);
      return write();
    });
  }

  /** A write to an old version conflicts with the writes after it. */
  async #readLatest(baseId: string): Promise<void> {
    const table = await this.#tables.get(baseId)?.catch(() => undefined);
    if (table === undefined) return;
    forgetFacts(table);
    // Another process may have dropped the table.
    await table.checkoutLatest().catch(() => this.#tables.delete(baseId));
  }

  async #forgetFacts(baseId: string): Promise<void> {
    const table = await this.#tables.get(baseId)?.catch(() => undefined);
    if (table !== undefined) forgetFacts(table);
  }

  /** Compacts, and removes the versions that nothing reads any more: those of now once they are old enough. */
  async #optimize(baseId: string, table: Table): Promise<void> {
    await table.optimize({ cleanupOlderThan: new Date(Date.now() - KEPT_VERSIONS_MS) });
    clearTimeout(this.#cleanups.get(baseId));
    const cleanup = setTimeout(() => {
      this.#cleanups.delete(baseId);
      // What fails now is done after the next write.
      this.#clean(baseId).catch(() => {});
    }, KEPT_VERSIONS_MS + 1000).unref();
    this.#cleanups.set(baseId, cleanup);
  }

  async #clean(baseId: string): Promise<void> {
    await this.#inTurn(baseId, async () => {
      const table = await this.#known(baseId);
      await table?.optimize({ cleanupOlderThan: new Date(Date.now() - KEPT_VERSIONS_MS) });
    });
  }
}

/** What a chunk has at most that is not among the best `limit`: nothing where fewer match. */
function bm25OfUnseen(matching: readonly { bm25: number }[], limit: number): number {
  return matching.length < limit ? 0 : Math.min(...matching.map(({ bm25 }) => bm25));
}
