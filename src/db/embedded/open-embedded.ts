import { requireWritable } from '../../lib/writable-folder.ts';
import type { Database } from '../db.ts';
import { openPool, type PostgresServer } from '../postgres.ts';
import { EmbeddedServer, type EmbeddedServerOptions } from './embedded-server.ts';
import { DATABASE_NAME, DATABASE_USER, SOCKET_PORT } from './settings.ts';

/** A running embedded PostgreSQL. */
export interface RunningServer extends PostgresServer {
  /** Stops the server. May be called twice. */
  stop(): Promise<void>;
}

/** Starts the embedded PostgreSQL on its folder. Throws an `OperatorError` when the server cannot be started. */
export async function startEmbedded(options: EmbeddedServerOptions): Promise<RunningServer> {
  const server = await EmbeddedServer.start(options);
  return {
    connection: { host: server.socket.path, port: SOCKET_PORT, user: DATABASE_USER, database: DATABASE_NAME },
    name: `The embedded database in ${options.folder}`,
    description: 'PostgreSQL (embedded)',
    isExclusive: true,
    stop: () => server.stop(),
  };
}

/**
 * Starts the embedded PostgreSQL on its folder and connects to it. Closing stops the server. Throws an `OperatorError`
 * when the server cannot be started.
 */
export async function openEmbedded(options: EmbeddedServerOptions): Promise<Database> {
  const { folder, logger } = options;
  const server = await startEmbedded(options);
  try {
    const database = await openPool(server, logger);
    return {
      ...database,
      check: async () => {
        await database.check();
        await requireWritable(folder);
      },
      close: async () => {
        await database.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
