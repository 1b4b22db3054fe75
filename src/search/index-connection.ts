import { type Connection, connect, Session, type Table } from '@lancedb/lancedb';
import { describeError } from '../lib/operator-error.ts';
import { BASE_SCHEMA } from './chunk-rows.ts';
import { callIndex } from './index-outage.ts';

/** Sizes of LanceDB's caches. LanceDB's defaults are 6 GiB and 1 GiB. */
export interface IndexCaches {
  /** Index data. The indexes of 200,000 chunks take 128 MB. */
  indexMb: number;
  /** File and fragment metadata. */
  metadataMb: number;
}

const DEFAULT_CACHES: IndexCaches = { indexMb: 512, metadataMb: 128 };
const BYTES_PER_MB = 1_048_576n;
/**
 * LanceDB counts about a fifth of the memory of small entries, and never removes those of old versions of a table
 * before a cache is full: memory rose for hours. So the number of entries is bounded, too. An entry takes 4.5 KB on
 * average (bench/results/memory.md).
 */
const MAX_ENTRIES_PER_MB = 256;
/** Maximum time until writes of other processes become visible in a shared store. */
export const SHARED_CONSISTENCY_SECONDS = 1;

/** Error message of LanceDB for a table without a version, in a folder and in an object store. */
const MISSING_TABLE = /^Table '[^']*' was not found/m;

/** A connection to LanceDB, and the caches of the tables that it opens. */
export class IndexConnection {
  readonly lance: Connection;
  readonly #session: Session;
  readonly #maxEntries: number;
  readonly #isShared: boolean;

  private constructor(
    lance: Connection,
    session: Session,
    { maxEntries, isShared }: { maxEntries: number; isShared: boolean },
  ) {
    this.lance = lance;
    this.#isShared = isShared;
    this.#session = session;
    this.#maxEntries = maxEntries;
  }

  /**
   * Connects to a folder or `s3://` URL, with empty caches. `storage`: options of the object store (`aws_endpoint`).
   * `isShared`: other processes write, too.
   */
  static async open(
    url: string,
    { storage, isShared }: { storage: Record<string, string>; isShared: boolean },
    { indexMb, metadataMb } = DEFAULT_CACHES,
  ): Promise<IndexConnection> {
    const session = new Session(BigInt(indexMb) * BYTES_PER_MB, BigInt(metadataMb) * BYTES_PER_MB);
    const options = {
      storageOptions: storage,
      // `connect` of LanceDB 0.39 ignores a session in its own parameter. The caches then have their default sizes.
      session,
      ...(isShared && { readConsistencyInterval: SHARED_CONSISTENCY_SECONDS }),
    };
    const lance = await callIndex(url, () => connect(url, options));
    return new IndexConnection(lance, session, { maxEntries: (indexMb + metadataMb) * MAX_ENTRIES_PER_MB, isShared });
  }

  /** Memory of the caches as LanceDB counts it, and the number of their entries. */
  get caches(): { bytes: number; entries: number } {
    return { bytes: Number(this.#session.sizeBytes()), entries: this.#session.approxNumItems() };
  }

  /** Whether the caches hold so many entries that they should be replaced. */
  get isCacheFull(): boolean {
    return this.#session.approxNumItems() > this.#maxEntries;
  }

  /** Whether the table exists, even if it is damaged. Lists the names of all tables. */
  async hasTable(name: string): Promise<boolean> {
    const names = await this.lance.tableNames({ startAfter: name.slice(0, -1), limit: 1000 });
    return names.includes(name);
  }

  /** Opens a table. Returns null if it does not exist. */
  openTable(name: string): Promise<Table | null> {
    return this.lance.openTable(name).catch((error: unknown) => {
      if (MISSING_TABLE.test(describeError(error))) return null;
      throw error;
    });
  }

  /** Drops a table. Idempotent. */
  async dropTable(name: string): Promise<void> {
    await this.lance.dropTable(name).catch((error: unknown) => {
      if (!MISSING_TABLE.test(describeError(error))) throw error;
    });
  }

  async openOrCreateTable(name: string): Promise<Table> {
    const table = await this.openTable(name);
    if (table !== null) return table;
    try {
      return await this.lance.createEmptyTable(name, BASE_SCHEMA);
    } catch (error) {
      // A full disk leaves a table without a version, which cannot be opened. In a shared store, it may be the table of
      // another process.
      if (!this.#isShared) await this.lance.dropTable(name).catch(() => {});
      throw error;
    }
  }
}
