import { PGlite } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/pglite';
import { migrate } from 'drizzle-orm/pglite/migrator';
import { reasonOf, StartError } from '../lib/start-error.ts';
import { type Database, MIGRATIONS_FOLDER } from './db.ts';

/**
 * Opens the embedded database in `folder`, which is created when it is not there; null keeps it in memory (for tests).
 * Only one process may have a folder open: the caller holds the lock (`cli/command-socket.ts`).
 * What a query has acknowledged survives SIGKILL: PGlite syncs its write-ahead log before it answers.
 */
export async function openPglite(folder: string | null): Promise<Database> {
  let client: PGlite;
  try {
    client = await PGlite.create(folder === null ? {} : { dataDir: folder });
  } catch (error) {
    throw new StartError(`The embedded database in ${folder} cannot be opened: ${reasonOf(error)}`);
  }
  const database = drizzle(client);
  return {
    kind: 'embedded',
    sql: database,
    migrate: () => migrate(database, { migrationsFolder: MIGRATIONS_FOLDER }),
    check: async () => {
      await database.execute(sql`select 1`);
    },
    close: async () => {
      if (!client.closed) await client.close();
    },
  };
}
