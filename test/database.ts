import { randomBytes } from 'node:crypto';
import { PGlite } from '@electric-sql/pglite';
import { Client } from 'pg';
import type { Database } from '../src/db/db.ts';
import { overPglite } from '../src/db/pglite.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { createLogger } from '../src/lib/logger.ts';
import { readTemplate } from './template.ts';

/** A migrated database of its own for one test file: PGlite in memory, or one of the PostgreSQL that the run started. */
export async function openTestDatabase(): Promise<Database> {
  const url = process.env['QUIRE_TEST_DATABASE_URL'];
  const db = url === undefined ? await openMemory() : await openOnServer(url);
  await db.migrate();
  return db;
}

async function openMemory(): Promise<Database> {
  const template = readTemplate();
  const client = await PGlite.create(template === null ? {} : { loadDataDir: template });
  return overPglite(client);
}

async function openOnServer(serverUrl: string): Promise<Database> {
  const url = await createDatabase(serverUrl);
  const db = await openPostgres(url, createLogger('silent'));
  return {
    ...db,
    close: async () => {
      await db.close();
      await onServer(serverUrl, `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);
    },
  };
}

/** Creates an empty database on the server and gives its URL. */
export async function createDatabase(serverUrl: string): Promise<string> {
  const name = `quire_${randomBytes(6).toString('hex')}`;
  await onServer(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
