import type { Logger } from '../../lib/logger.ts';
import { requireWritable } from '../../lib/writable-folder.ts';
import type { Database } from '../db.ts';
import { openPool, type PostgresServer } from '../postgres.ts';
import { EmbeddedServer, type EmbeddedServerOptions } from './embedded-server.ts';
import { DATABASE_NAME, DATABASE_USER, SOCKET_PORT } from './settings.ts';

const DESCRIPTION = 'PostgreSQL (embedded)';

const connectionTo = (host: string) => ({ host, port: SOCKET_PORT, user: DATABASE_USER, database: DATABASE_NAME });

/** A running embedded PostgreSQL. */
export interface RunningServer extends PostgresServer {
  /** Folder of the socket by which other processes of the service connect. */
  socketFolder: string;
  /** Stops the server. May be called twice. */
  stop(): Promise<void>;
}

/** The embedded database, as the process that runs its server sees it. */
export type EmbeddedDatabase = Database & Pick<RunningServer, 'socketFolder'>;

/** Connects to the embedded database that another process of the service runs. */
export function joinEmbedded(socketFolder: string, logger: Logger): Promise<Database> {
  const connection = connectionTo(socketFolder);
  const name = 'The embedded database of the main process';
  const sharing = { isExclusive: false, startsAlone: false };
  return openPool({ connection, name, description: DESCRIPTION, ...sharing }, logger);
}

/** Starts the embedded PostgreSQL on its folder. Throws an `OperatorError` when the server cannot be started. */
export async function startEmbedded(options: EmbeddedServerOptions): Promise<RunningServer> {
  const server = await EmbeddedServer.start(options);
  return {
    connection: connectionTo(server.socket.path),
    name: `The embedded database in ${options.folder}`,
    description: DESCRIPTION,
    isExclusive: (options.processes ?? 1) === 1,
    startsAlone: true,
    socketFolder: server.socket.path,
    stop: () => server.stop(),
  };
}

/**
 * Starts the embedded PostgreSQL on its folder and connects to it. Closing stops the server. Throws an `OperatorError`
 * when the server cannot be started.
 */
export async function openEmbedded(options: EmbeddedServerOptions): Promise<EmbeddedDatabase> {
  const { folder, logger } = options;
  const server = await startEmbedded(options);
  try {
    const database = await openPool(server, logger);
    return {
      ...database,
      socketFolder: server.socketFolder,
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
