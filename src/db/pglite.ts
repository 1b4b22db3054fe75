import { dirname } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/pglite';
import { migrate } from 'drizzle-orm/pglite/migrator';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { describeFree, freeBytes, MIN_FREE_BYTES, requireWritable } from '../lib/writable-folder.ts';
import { type Database, MIGRATIONS_FOLDER } from './db.ts';
import { waysOut } from './embedded/cluster-folder.ts';
import { keepValuesOutOfErrors, running } from './failed-statement.ts';
import { openLeanPglite } from './lean-pglite.ts';

/**
 * Opens the embedded database in `folder`, which is created when it is not there; null keeps it in memory (for tests).
 * Only one process may have a folder open: the caller holds the lock (`data-folder/lock.ts`).
 * What a query has acknowledged survives SIGKILL of this process. It may not survive a power cut: PGlite leaves syncing to
 * the operating system. Where that matters, use PostgreSQL.
 */
export async function openPglite(folder: string | null): Promise<Database> {
  let client: PGlite;
  try {
    client = await openLeanPglite(folder === null ? {} : { dataDir: folder });
  } catch (error) {
    if (folder === null || error instanceof OperatorError) throw error;
    await requireSpaceToOpen(folder);
    const reason = describeError(error).replace(/\.$/, '');
    throw new OperatorError(`The embedded database in ${folder} cannot be opened: ${reason}. ${waysOut(folder)}`);
  }
  return overPglite(client, folder);
}

/** A full disk is no damage: nothing has to be restored. */
async function requireSpaceToOpen(folder: string): Promise<void> {
  const parent = dirname(folder);
  const free = await freeBytes(parent).catch(() => null);
  if (free === null || free >= MIN_FREE_BYTES) return;
  throw new OperatorError(
    `The embedded database in ${folder} cannot be opened: ${describeFree(parent, free)}. Free some and start again.`,
  );
}

/** The port over an open PGlite, which it closes. `folder` is where it writes; null: nowhere. */
export function overPglite(client: PGlite, folder: string | null = null): Database {
  keepValuesOutOfErrors();
  const database = drizzle(client);
  return {
    kind: 'embedded',
    sql: database,
    prepare: (name, statement) => {
      const run = prepareOn(client, name, statement);
      return (parameter) => running(statement, () => run(parameter));
    },
    execute: (text, values) => running(text, () => executeOn(client, text, values)),
    // One process and one connection: nothing is lost.
    listen: (channel, { onNotification }) => {
      const listening = client.listen(channel, onNotification);
      return () => void listening.then((unlisten) => unlisten());
    },
    withLock: (_name, task) => task(),
    migrate: () => migrate(database, { migrationsFolder: MIGRATIONS_FOLDER }),
    check: async () => {
      await database.execute(sql`select 1`);
      if (folder !== null) await requireWritable(folder);
    },
    close: async () => {
      if (!client.closed) await client.close();
    },
  };
}

/**
 * PREPARE and EXECUTE as plain SQL: PGlite's `query` goes through parse, describe, bind and execute at every call, which
 * takes twice the time of the statement itself.
 */
function prepareOn(client: PGlite, name: string, statement: string): (parameter: string) => Promise<unknown[]> {
  let prepared: Promise<unknown> | null = null;
  return async (parameter) => {
    prepared ??= client.exec(`prepare ${name}(text) as ${statement}`).catch((error: unknown) => {
      prepared = null;
      throw error;
    });
    await prepared;
    // With standard_conforming_strings, which is on, a quote is the only character that a literal must double.
    const results = await client.exec(`execute ${name}('${parameter.replaceAll("'", "''")}')`);
    return results.flatMap(({ rows }) => rows);
  };
}

/** A failed statement inside of `begin` would leave the only connection in a transaction that refuses everything. */
async function executeOn(client: PGlite, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  if (values.length > 0) return client.query(text, values);
  try {
    return { rows: (await client.exec(text)).flatMap(({ rows }) => rows) };
  } catch (error) {
    await client.exec('rollback').catch(() => {});
    throw error;
  }
}
