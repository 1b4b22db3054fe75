import type { Table } from '@lancedb/lancedb';
import { LruMap } from '../lib/lru-map.ts';
import { StallDetector } from '../lib/stall-detector.ts';
import { invalidateFacts } from './chunk-table.ts';
import type { IndexConnection } from './index-connection.ts';

/** Maximum open tables. Opening one takes a few milliseconds. */
const MAX_OPEN_TABLES = 256;
/**
 * Stall after which tables of a shared store are opened again. LanceDB counts the age of a version from the end of its
 * read: a read that a suspension interrupts makes an old version pass for a new one.
 */
const MAX_STALL_MS = 500;

/** Open LanceDB tables by knowledge base. Evicted tables are not closed, because a search may still read them. */
export class OpenTables {
  readonly #tables = new LruMap<string, Promise<Table>>(MAX_OPEN_TABLES);
  /** Incremented whenever tables have to be opened again. A table that was opened before that is not cached. */
  #generation = 0;
  readonly #pendingWrites: ReadonlyMap<string, Promise<unknown>>;
  /** Null for a folder, which no other process writes. */
  readonly #stalls: StallDetector | null;

  /** `pendingWrites`: tail of the write queue of each table. */
  constructor(pendingWrites: ReadonlyMap<string, Promise<unknown>>, { isShared }: { isShared: boolean }) {
    this.#pendingWrites = pendingWrites;
    this.#stalls = isShared ? new StallDetector(MAX_STALL_MS) : null;
  }

  /** Opens the table of a knowledge base; null when it does not exist. */
  async find(connection: IndexConnection, baseId: string): Promise<Table | null> {
    if (this.#stalls?.take() === true) this.reopen();
    const open = this.#tables.get(baseId);
    if (open !== undefined) return open;
    const generation = this.#generation;
    const table = await connection.openTable(baseId);
    if (table === null || generation !== this.#generation) return table;
    const other = this.#tables.get(baseId);
    if (other === undefined) this.#tables.set(baseId, Promise.resolve(table));
    else table.close();
    return other ?? table;
  }

  /** Opens the table of a knowledge base; creates it if needed. */
  findOrCreate(connection: IndexConnection, baseId: string): Promise<Table> {
    const open = this.#tables.get(baseId);
    if (open !== undefined) return open;
    const table = connection.openOrCreateTable(baseId);
    this.#tables.set(baseId, table);
    table.catch(() => this.#tables.delete(baseId));
    return table;
  }

  /** Opens the table again with its next use. */
  forget(baseId: string): void {
    this.#generation += 1;
    this.#tables.delete(baseId);
  }

  /** Opens each table again with its next use, after pending writes, which it would not see. */
  reopen(): void {
    this.#generation += 1;
    for (const [baseId, table] of [...this.#tables]) {
      const forget = () => this.#tables.get(baseId) === table && this.#tables.delete(baseId);
      const writes = this.#pendingWrites.get(baseId);
      if (writes === undefined) forget();
      else void writes.then(forget);
    }
  }

  /** Switches to the latest version: a write to an old version conflicts with later writes. */
  async readLatest(baseId: string): Promise<void> {
    const table = await this.#openTable(baseId);
    if (table === undefined) return;
    invalidateFacts(table);
    // Another process may have dropped the table.
    await table.checkoutLatest().catch(() => this.#tables.delete(baseId));
  }

  /** Invalidates the cached facts about the table after a write. */
  async invalidateFacts(baseId: string): Promise<void> {
    const table = await this.#openTable(baseId);
    if (table !== undefined) invalidateFacts(table);
  }

  async close(): Promise<void> {
    this.#stalls?.stop();
    for (const table of this.#tables.values()) (await table.catch(() => null))?.close();
  }

  /** The table if it is open. */
  async #openTable(baseId: string): Promise<Table | undefined> {
    return this.#tables.get(baseId)?.catch(() => undefined);
  }
}
