import { randomBytes } from 'node:crypto';
import { createDatabase, type TestDatabase } from './database.ts';
import { type S3Server, startS3Server } from './fixtures/s3-server.ts';

/** The stores that processes on several machines share. */
export interface SharedStores {
  database: TestDatabase;
  /** Holds the blobs and the search index. */
  store: S3Server;
  /** The settings of every process. */
  env: Record<string, string>;
  /** Call it after the processes have ended. */
  close(): Promise<void>;
}

/** Creates a database, a blob store, a search index and a secrets key for several processes. */
export async function createSharedStores(options?: { isMigrated: boolean }): Promise<SharedStores> {
  const [database, store] = await Promise.all([createDatabase(options), startS3Server()]);
  return {
    database,
    store,
    env: {
      QUIRE_DATABASE_URL: database.url,
      QUIRE_BLOBS_URL: store.url('blobs'),
      QUIRE_INDEX_URL: store.url('index'),
      QUIRE_SECRETS_KEY: randomBytes(32).toString('hex'),
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
}
