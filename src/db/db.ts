import { fileURLToPath } from 'node:url';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';

/** Drizzle over the database, or over one transaction: stores write their queries with it. */
export type Sql = PgDatabase<PgQueryResultHKT>;

/** Names of the notification channels of one database. */
export const CHANNELS = [
  'quire_api_keys',
  'quire_ingestion_jobs',
  'quire_jobs',
  'quire_model_bindings',
  'quire_responses',
] as const;

/** Carries notifications between processes; their payload is an id or a name, never content. */
export type Channel = (typeof CHANNELS)[number];

/**
 * A subscriber of a channel. Its functions must not throw, and must return without waiting for the work that they
 * start.
 */
export interface NotificationListener {
  /** A transaction that sent `payload` has committed, in this process or another one. */
  onNotification(payload: string): void;
  /**
   * Notifications may have been lost. Called after every connect, including the first one; the subscriber reads the
   * state again.
   */
  onGap(): void;
}

/** Connections of a pool, and statements and transactions that wait for one. */
export interface PoolUse {
  busy: number;
  idle: number;
  waiting: number;
  max: number;
}

/**
 * The relational database: PostgreSQL, run by this process (`embedded/`) or reached by URL. Transactions may only wait
 * for SQL: connections are few, and locks are held until the transaction ends.
 */
export interface Database {
  /** For operators: `PostgreSQL`, and who runs it. */
  readonly description: string;
  /**
   * Whether no other process uses this database, because the lock of the data folder keeps them from it.
   */
  readonly isExclusive: boolean;
  /**
   * Whether this process had the database for itself when it opened it. Work in progress then belonged to an exited
   * process.
   */
  readonly startsAlone: boolean;
  readonly sql: Sql;
  /**
   * A statement with one text parameter, `$1`, that is prepared once; for reads and writes of every request. `name` is
   * unique. Returns the rows of a read.
   */
  prepare(name: string, statement: string): (parameter: string) => Promise<unknown[]>;
  /** Plain SQL for libraries that generate their own: one statement with `$1` parameters, or several without. */
  execute(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Subscribes to notifications (`notify`) until the returned function is called. */
  listen(channel: Channel, listener: NotificationListener): () => void;
  /**
   * Runs the task while no other task in any process holds the lock of that name. Not for SQL: a task may take minutes.
   */
  withLock<T>(name: string, task: () => Promise<T>): Promise<T>;
  /**
   * Runs the task with a connection of its own, whose statements have no time limit. For work that PostgreSQL ties to
   * one session, such as a base backup.
   */
  withSession<T>(task: (session: Pick<Database, 'execute'>) => Promise<T>): Promise<T>;
  /**
   * Migrates the tables to this version. Safe when several processes start together. Returns the names of contract
   * migrations that are postponed because processes of an older version run.
   */
  migrate(): Promise<string[]>;
  /** Use of the connection pool of this process. */
  connections(): PoolUse;
  /** Resolves when the database responds; otherwise throws an Error whose message is for the operator. */
  check(): Promise<void>;
  /** May be called twice. */
  close(): Promise<void>;
}

/** A process without a heartbeat for this time has ended for the others, by the clock of the database. */
export const LEASE_SECONDS = 30;

/** The migrations that `npm run generate` writes from the `tables.ts` files. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url));
