import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { FairSemaphore } from '../lib/fair-semaphore.ts';
import { currentOrganization } from '../lib/organization-context.ts';
import { pause } from '../lib/retry.ts';
import { StoreUnavailableError } from '../lib/store-unavailable.ts';
import { requireWritable } from '../lib/writable-folder.ts';
import { BASE_SCHEMA, FIRST_VECTOR_COLUMN, type IndexedChunk } from './chunk-rows.ts';
import {
  buildLookups,
  buildTerms,
  buildVectors,
  type ChunkHit,
  dropOtherVectors,
  searchTerms,
  selectIds,
  selectVectors,
  tableFacts,
} from './chunk-table.ts';
import { columnIn } from './filter.ts';
import { type IndexCaches, IndexConnection, SHARED_CONSISTENCY_SECONDS } from './index-connection.ts';
import { callIndex } from './index-outage.ts';
import { maintainTable } from './maintain-table.ts';
import { FLAT_ROWS, type MaintenanceStep } from './maintenance.ts';
import { MaintenanceDebt } from './maintenance-debt.ts';
import { OpenTables } from './open-tables.ts';
import { scanTable } from './scan-table.ts';
import { type ChunkSearch, type KeywordQuery, searchTable, VectorsDroppedError } from './search-table.ts';
import { FileSyncer } from './sync-files.ts';
import { tokenizeQuery } from './terms.ts';
import { deleteRows, type IndexWrite, writeChunks } from './write-chunks.ts';

/** Age after which old versions of a table are removed: no search reads them any more. */
const VERSION_RETENTION_MS = 60_000;

/**
 * Concurrent searches, and those of one organization. LanceDB runs searches on as many threads as there are cores,
 * first come, first served; more searches at a time than cores help while they wait for an object store.
 */
const SEARCHES_PER_ORGANIZATION = Math.max(4, 2 * availableParallelism());
const SEARCHES = { total: 2 * SEARCHES_PER_ORGANIZATION, perGroup: SEARCHES_PER_ORGANIZATION };

/** Runs a task with a lock that excludes tasks of the same name in other processes. */
export type Lock = <T>(name: string, task: () => Promise<T>) => Promise<T>;

/** Options of `ChunkIndex.open`. */
export interface IndexOptions {
  /** Options of the object store, such as `aws_endpoint`. */
  storage?: Record<string, string>;
  caches?: IndexCaches;
  /**
   * Excludes writers of other processes on a shared store. LanceDB detects conflicts, but then fails compaction and the
   * creation of tables and indexes.
   */
  lock?: Lock;
}

/**
 * The search index: a LanceDB table per knowledge base, in a folder or an object store. It can be rebuilt from the
 * database. Writes to one table are serialized; searches never wait for writes. Organizations share the searches that
 * run at a time.
 */
export class ChunkIndex {
  #connection: IndexConnection;
  readonly #connect: () => Promise<IndexConnection>;
  #isRenewing = false;
  readonly #url: string;
  /** Null for a shared store. */
  readonly #folder: string | null;
  readonly #lock: Lock | null;
  /** Whether other processes write, too. */
  readonly #isShared: boolean;
  readonly #files = new FileSyncer();
  readonly #searches = new FairSemaphore(SEARCHES);
  /** Tail of the write queue of each table. */
  readonly #writes = new Map<string, Promise<unknown>>();
  /** Timers that remove old versions after a compaction. */
  readonly #cleanups = new Map<string, NodeJS.Timeout>();
  readonly #tables: OpenTables;
  readonly #debt = new MaintenanceDebt();

  private constructor(
    connection: IndexConnection,
    connectAgain: () => Promise<IndexConnection>,
    { url, lock }: { url: string; lock: Lock | null },
  ) {
    this.#connection = connection;
    this.#connect = connectAgain;
    this.#url = url;
    this.#folder = url.includes('://') ? null : url;
    this.#lock = lock;
    this.#isShared = this.#folder === null || lock !== null;
    this.#tables = new OpenTables(this.#writes, { isShared: this.#isShared });
  }

  /** Opens the index at a folder, which other processes may have open only with `lock`, or at an `s3://` URL. */
  static async open(url: string, { storage = {}, caches, lock }: IndexOptions = {}): Promise<ChunkIndex> {
    const isShared = url.includes('://') || lock !== undefined;
    const openConnection = () => IndexConnection.open(url, { storage, isShared }, caches);
    const index = new ChunkIndex(await openConnection(), openConnection, { url, lock: lock ?? null });
    if (index.#folder !== null) await index.#files.skipExisting(url);
    return index;
  }

  /** Size of LanceDB's caches. */
  get caches(): { bytes: number; entries: number } {
    return this.#connection.caches;
  }

  /** Work that the maintenance by this process has left. */
  maintenanceDebt(): ReturnType<MaintenanceDebt['totals']> {
    return this.#debt.totals();
  }

  /** Throws when the store is not readable, or the folder not writable. */
  async check(): Promise<void> {
    // On a local folder, LanceDB lists all tables regardless of the limit.
    if (this.#folder !== null) await requireWritable(this.#folder);
    else await this.#call(() => this.#connection.lance.tableNames({ limit: 1 }));
  }

  /** Marks this index with a new empty table. Returns its name, by which `hasTable` recognizes the index. */
  async mark(): Promise<string> {
    const name = `marker_${randomBytes(16).toString('hex')}`;
    await this.#call(() => this.#connection.lance.createEmptyTable(name, BASE_SCHEMA));
    return name;
  }

  /** Whether the index has the table of a knowledge base, or the one that `mark` created. */
  hasTable(name: string): Promise<boolean> {
    return this.#call(() => this.#connection.hasTable(name));
  }

  /** Closes the index after all writes have settled. */
  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.values()) clearTimeout(cleanup);
    await Promise.allSettled(this.#writes.values());
    await this.#tables.close();
    this.#connection.lance.close();
  }

  /**
   * Replaces all chunks of the documents by `chunks`; those with stored ids in one step for searches. `isNew`: the
   * index holds none of the documents, which saves a lookup. `column`: the column of the vectors, which is added if it
   * is missing; those in other columns stay. `keepsReplaced`: the other chunks stay searchable, and their ids are
   * returned for `removeChunks`; resolves when every process of a shared store sees the new ones. Idempotent.
   */
  async replace(
    baseId: string,
    documentIds: readonly string[],
    { chunks, isNew, keepsReplaced, column = FIRST_VECTOR_COLUMN }: IndexWrite & { chunks: readonly IndexedChunk[] },
  ): Promise<string[]> {
    const written = new Set(chunks.map(({ id }) => id));
    const replaced = await this.#serializeWrite(baseId, async () => {
      const table = await this.#tables.findOrCreate(this.#connection, baseId);
      const ids = isNew ? [] : await selectIds(table, documentIds);
      this.#debt.addDeleted(baseId, await writeChunks(table, chunks, { isNew, column }));
      return ids.filter((id) => !written.has(id));
    });
    if (keepsReplaced !== true) await this.removeChunks(baseId, replaced);
    else if (this.#isShared && !isNew) await pause(SHARED_CONSISTENCY_SECONDS * 1000);
    return replaced;
  }

  /** Returns the vectors of the documents' chunks in a column by chunk id, to write them again with other fields. */
  vectors(
    baseId: string,
    documentIds: readonly string[],
    column = FIRST_VECTOR_COLUMN,
  ): Promise<ReadonlyMap<string, Float32Array | null>> {
    return this.#read(baseId, new Map(), (table) => selectVectors(table, documentIds, column));
  }

  /** Removes documents. Idempotent. */
  async remove(baseId: string, documentIds: readonly string[]): Promise<void> {
    await this.#serializeWrite(baseId, async () => {
      const table = await this.#existingTable(baseId);
      if (table !== null) this.#debt.addDeleted(baseId, await deleteRows(table, 'document_id', documentIds));
    });
  }

  /** Removes chunks. Idempotent. */
  async removeChunks(baseId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#serializeWrite(baseId, async () => {
      const table = await this.#existingTable(baseId);
      if (table !== null) this.#debt.addDeleted(baseId, await deleteRows(table, 'id', ids));
    });
  }

  /** Removes a knowledge base. Idempotent. */
  async drop(baseId: string): Promise<void> {
    await this.#serializeWrite(baseId, async () => {
      this.#debt.clear(baseId);
      // Afterwards: a search may open the table until it is dropped.
      await this.#connection.dropTable(baseId).finally(() => this.#tables.forget(baseId));
    });
  }

  /**
   * Reads the index of a knowledge base from its files. Returns the number of chunks per document. Throws the error of
   * LanceDB when a file is missing or damaged.
   */
  scan(baseId: string): Promise<ReadonlyMap<string, number>> {
    // An open table may have cached the files.
    this.#tables.forget(baseId);
    return this.#read(baseId, new Map(), scanTable);
  }

  /** Number of chunks of a knowledge base. */
  count(baseId: string): Promise<number> {
    return this.#read(baseId, 0, (table) => table.countRows());
  }

  /** Returns the best chunks, unordered. Throws the reason of the signal when that aborts before the search begins. */
  async search(baseId: string, search: ChunkSearch): Promise<ChunkHit[]> {
    const read = () => this.#read(baseId, [], (table) => searchTable(table, search));
    return this.#inTurn(search.signal, async () => {
      try {
        return await read();
      } catch (error) {
        if (error instanceof StoreUnavailableError || error instanceof VectorsDroppedError) throw error;
        // The open table may refer to files that another process has replaced.
        this.#tables.forget(baseId);
        return read();
      }
    });
  }

  /** Returns the BM25 scores of a search for the given chunks that contain a word of the query. */
  async bm25Scores(
    baseId: string,
    ids: readonly string[],
    { text, languages, signal }: KeywordQuery,
  ): Promise<ReadonlyMap<string, number>> {
    const terms = tokenizeQuery(text, languages);
    if (terms.length === 0 || ids.length === 0) return new Map();
    const options = { where: columnIn('id', ids), limit: ids.length, near: null };
    const hits = await this.#inTurn(signal, () =>
      this.#read(baseId, [], (table) => searchTerms(table, terms, options)),
    );
    return new Map(hits.map(({ id, bm25 }) => [id, bm25]));
  }

  /**
   * Builds indexes, compacts and removes old versions as needed. Call it after writes, in the background; `isBusy`
   * while more writes follow. Returns the steps that were done.
   */
  async maintain(baseId: string, isBusy = false): Promise<MaintenanceStep[]> {
    return this.#serializeWrite(baseId, async () => {
      const table = await this.#existingTable(baseId);
      if (table === null) return [];
      return maintainTable(table, baseId, { debt: this.#debt, isBusy, optimize: () => this.#optimize(baseId, table) });
    });
  }

  /** Builds the index of a vector column if searches need one. Call it before they use the column. Idempotent. */
  async indexVectors(baseId: string, column: string): Promise<void> {
    await this.#serializeWrite(baseId, async () => {
      const table = await this.#existingTable(baseId);
      if (table !== null && (await table.countRows()) >= FLAT_ROWS) await buildVectors(table, column);
    });
  }

  /**
   * Drops the vectors in columns other than `column`, compacts, and builds all indexes again, after all vectors were
   * replaced. Idempotent.
   */
  async rebuild(baseId: string, column = FIRST_VECTOR_COLUMN): Promise<void> {
    await this.#serializeWrite(baseId, async () => {
      const table = await this.#existingTable(baseId);
      if (table === null || (await table.countRows()) === 0) return;
      await dropOtherVectors(table, column);
      const isFlat = (await table.countRows()) < FLAT_ROWS;
      if (isFlat && (await tableFacts(table)).indexed.has(column)) await table.dropIndex(`${column}_idx`);
      await this.#optimize(baseId, table);
      await buildTerms(table);
      this.#debt.clearDeleted(baseId);
      if (!isFlat) {
        await buildVectors(table, column);
        await buildLookups(table);
      }
    });
  }

  /** Runs a search when the current organization gets a permit. */
  #inTurn<T>(signal: AbortSignal, search: () => Promise<T>): Promise<T> {
    return this.#searches.within(currentOrganization(), signal, search);
  }

  /** Reads the table of a knowledge base; `absent` when it does not exist. */
  #read<T>(baseId: string, absent: T, read: (table: Table) => Promise<T>): Promise<T> {
    return this.#call(async () => {
      const table = await this.#existingTable(baseId);
      return table === null ? absent : read(table);
    });
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return callIndex(this.#url, call);
  }

  /** Opens the table of a knowledge base; null when it does not exist. */
  #existingTable(baseId: string): Promise<Table | null> {
    if (this.#connection.isCacheFull) void this.#renewCaches();
    return this.#tables.find(this.#connection, baseId);
  }

  /** Replaces the caches by empty ones. */
  async #renewCaches(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      this.#connection = await this.#connect();
      this.#tables.reopen();
    } catch {
      // The store does not respond: the next call tries again.
    } finally {
      this.#isRenewing = false;
    }
  }

  async #serializeWrite<T>(baseId: string, write: () => Promise<T>): Promise<T> {
    const writeAndInvalidate = () =>
      this.#call(() => this.#withLock(baseId, write)).finally(() => this.#tables.invalidateFacts(baseId));
    const result = (this.#writes.get(baseId) ?? Promise.resolve()).then(writeAndInvalidate);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#writes.set(baseId, settled);
    // Removes the entry of an empty queue: the number of knowledge bases is unbounded.
    void settled.then(() => this.#writes.get(baseId) === settled && this.#writes.delete(baseId));
    return result;
  }

  async #withLock<T>(baseId: string, write: () => Promise<T>): Promise<T> {
    const writeDurably = async () => {
      const written = await write();
      if (this.#folder !== null) await this.#files.sync(join(this.#folder, `${baseId}.lance`));
      return written;
    };
    if (this.#lock === null) return writeDurably();
    return this.#lock(`index of ${baseId}`, async () => {
      await this.#tables.readLatest(baseId);
      return writeDurably();
    });
  }

  /** Compacts and removes old versions now, and the current ones once they are old enough. */
  async #optimize(baseId: string, table: Table): Promise<void> {
    await compact(table);
    this.#cleanLater(baseId);
  }

  #cleanLater(baseId: string): void {
    clearTimeout(this.#cleanups.get(baseId));
    const cleanup = setTimeout(() => {
      this.#cleanups.delete(baseId);
      // A failure is retried after the next write.
      this.#clean(baseId).catch(() => {});
    }, VERSION_RETENTION_MS + 1000).unref();
    this.#cleanups.set(baseId, cleanup);
  }

  async #clean(baseId: string): Promise<void> {
    await this.#serializeWrite(baseId, async () => {
      const table = await this.#existingTable(baseId);
      if (table === null) return;
      const version = await table.version();
      await compact(table);
      // Rows written in the meantime were compacted, which may have copied most of the table.
      if ((await table.version()) !== version) this.#cleanLater(baseId);
    });
  }
}

/** Compacts a table, updates its indexes, and removes old versions. */
async function compact(table: Table): Promise<void> {
  await table.optimize({ cleanupOlderThan: new Date(Date.now() - VERSION_RETENTION_MS) });
}
