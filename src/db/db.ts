import { fileURLToPath } from 'node:url';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';

/** Drizzle over either home of the database: what stores write their queries with. */
export type Sql = PgDatabase<PgQueryResultHKT>;

/**
 * The relational database: PGlite in this process, or PostgreSQL. Both pass `test/database-conformance.test.ts`.
 * No transaction may wait for anything but SQL: PGlite has one connection.
 */
export interface Database {
  readonly kind: 'embedded' | 'postgres';
  readonly sql: Sql;
  /**
   * A statement with one text parameter, `$1`, that is planned once: for what is written or read on every request. The name is
   * its own. Gives the rows of one that reads.
   */
  prepare(name: string, statement: string): (parameter: string) => Promise<unknown[]>;
  /** Plain SQL, for libraries that write their own: one statement with `$1` parameters, or several without. */
  execute(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Brings the tables to this version. Safe when several processes start together. */
  migrate(): Promise<void>;
  /** Resolves when the database answers; throws an Error with a sentence for the operator when it does not. */
  check(): Promise<void>;
  /** May be called twice. */
  close(): Promise<void>;
}

/** The migrations that `npm run generate` writes from the `tables.ts` files. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url));
