import { requireWritable } from '../../lib/writable-folder.ts';
import type { Database } from '../db.ts';
import { openPool } from '../postgres.ts';
import { EmbeddedServer, type EmbeddedServerOptions } from './embedded-server.ts';
import { DATABASE_NAME, DATABASE_USER, SOCKET_PORT } from './settings.ts';

/**
 * Starts the embedded PostgreSQL on its folder and connects to it. Closing stops the server. Throws an `OperatorError`
 * when the server cannot be started.
 */
export async function openEmbedded(options: EmbeddedServerOptions): Promise<Database> {
  const { folder, logger } = options;
  const server = await EmbeddedServer.start(options);
  const connection = { host: server.socket.path, port: SOCKET_PORT, user: DATABASE_USER, database: DATABASE_NAME };
  try {
    const name = `The embedded database in ${folder}`;
    const description = 'PostgreSQL (embedded)';
    const database = await openPool({ connection, name, description, isExclusive: true }, logger);
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
