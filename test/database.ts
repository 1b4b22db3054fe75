import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { Database } from '../src/db/db.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { createLogger } from '../src/lib/logger.ts';

/** Holds the URL of the PostgreSQL server of a test run (`prepare.ts`). */
export const SERVER_URL_VARIABLE = 'QUIRE_TEST_DATABASE_URL';
/** Holds the database folder of that server. */
export const SERVER_FOLDER_VARIABLE = 'QUIRE_TEST_DATABASE_FOLDER';
/** The migrated, empty database of that server that others are copied from. */
export const TEMPLATE_DATABASE = 'quire_template';

/** A database of the test run's server. */
export interface TestDatabase {
  url: string;
  /** Drops the database and ends its connections. May be called twice. */
  drop(): Promise<void>;
}

/** Opens a migrated database of its own, on the PostgreSQL server of the test run; `close` drops the database. */
export async function openTestDatabase(): Promise<Database> {
  const { url, drop } = await createDatabase();
  const db = await openPostgres(url, createLogger('silent'));
  return {
    ...db,
    close: async () => {
      await db.close();
      await drop();
    },
  };
}

/** Creates a migrated database without rows; `isMigrated: false` creates one without tables. */
export async function createDatabase({ isMigrated = true } = {}): Promise<TestDatabase> {
  const name = `quire_${randomBytes(6).toString('hex')}`;
  // FILE_COPY of the flushed template takes a third of the time of WAL_LOG, PostgreSQL's default.
  const source = isMigrated ? ` template ${TEMPLATE_DATABASE} strategy file_copy` : '';
  await runOnServer(`create database ${name}${source}`);
  return {
    url: databaseUrl(serverUrl(), name),
    drop: () => runOnServer(`drop database if exists ${name} with (force)`),
  };
}

/** The URL of a database on the server of another URL. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

function serverUrl(): string {
  const url = process.env[SERVER_URL_VARIABLE];
  if (url === undefined) throw new Error('This test needs a database: run it with `node test/run.js PATH`.');
  return url;
}

async function runOnServer(statement: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl() });
  await client.connect();
  await client.query(statement);
  await client.end();
}
