import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { retry } from '../../lib/retry.ts';
import { describeFree, freeBytes, MIN_FREE_BYTES } from '../../lib/writable-folder.ts';
import { createCluster, holdsDatabase, secureCluster, waysOut } from './cluster-folder.ts';
import { run } from './launch.ts';
import { endOrphan } from './postmaster.ts';
import { copyRuntime, findRuntime } from './runtime.ts';
import { type ServerExit, type ServerPlace, type ServerProcess, startServer } from './server-process.ts';
import { chooseServer, readUserContext, type ServerChoice } from './server-user.ts';
import { openSocketFolder, type SocketFolder } from './socket-folder.ts';

/** Pauses between restarts: none before the first, then doubled. */
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5_000;
/** A server that has accepted connections for this long counts as started; the backoff begins again. */
const STABLE_MS = 60_000;
/** 35 seconds of backoff in total. Causes that last longer are not transient. */
const MAX_FAILURES = 12;
/**
 * Processes of a killed server exit within milliseconds. Until then, PostgreSQL rejects a second server on their shared
 * memory.
 */
const STILL_IN_USE = /pre-existing shared memory block|lock file .* already exists/;
const STILL_IN_USE_DELAYS_MS: readonly number[] = Array(50).fill(100);

/** Options of the server. */
export interface EmbeddedServerOptions extends ServerPlace {
  /** The database folder; created if it does not exist. The caller holds the lock of the data folder around it. */
  folder: string;
  /** Called once when restarts do not help. */
  onGiveUp: (reason: string) => void;
}

/**
 * PostgreSQL as a child process. An unexpected exit is followed by a restart with backoff; connections fail until then.
 */
export class EmbeddedServer {
  /** Connections go through the socket in this folder. */
  readonly socket: SocketFolder;
  readonly #options: EmbeddedServerOptions;
  readonly #choice: ServerChoice;
  readonly #stopping = new AbortController();
  #current: ServerProcess;
  #supervision: Promise<void>;

  private constructor(
    options: EmbeddedServerOptions,
    choice: ServerChoice,
    socket: SocketFolder,
    first: ServerProcess,
  ) {
    this.#options = options;
    this.#choice = choice;
    this.socket = socket;
    this.#current = first;
    this.#supervision = this.#supervise();
  }

  /** Creates the cluster in a new folder, and starts the server. Resolves when it accepts connections. */
  static async start(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
    const { folder, logger } = options;
    const hasCluster = await holdsDatabase(folder);
    await mkdir(dirname(folder), { recursive: true });
    const choice = await chooseServer(readUserContext(), findRuntime(), {
      run: (user, command) => run(user, dirname(folder), command),
      copyRuntime,
    });
    logger.debug({ user: choice.user.kind, version: choice.runtime.version }, 'embedded database user');
    if (!hasCluster) await createCluster(folder, choice);
    const socket = openSocketFolder(folder);
    try {
      await endOrphan({ folder, socket, logger });
      secureCluster(folder, choice.user.ownerUid);
      return new EmbeddedServer(options, choice, socket, await startFirst(options, choice));
    } catch (error) {
      socket.remove();
      throw error;
    }
  }

  /** Stops the server. Resolves when it has exited. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#current.stop();
    await this.#supervision;
    this.socket.remove();
  }

  async #supervise(): Promise<void> {
    const { folder, logger, onGiveUp } = this.#options;
    const isStopping = () => this.#stopping.signal.aborted;
    let failures = 0;
    while (!isStopping()) {
      const { readyAtMs, exit } = await untilExit(this.#current);
      if (isStopping()) return;
      const { code, signal, failures: messages } = exit;
      failures = performance.now() - readyAtMs > STABLE_MS ? 1 : failures + 1;
      const reason = messages.at(-1) ?? `ended with ${signal ?? `code ${code}`}`;
      const isFull = await hasFullDisk(folder);
      if (failures > MAX_FAILURES && !isFull) return onGiveUp(reason);
      const backoffMs = failures === 1 ? 0 : Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 2));
      logger.error({ code, signal, reason, failures, backoffMs }, 'embedded database ended: starting it again');
      await delay(backoffMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (isStopping()) return;
      await this.#restart();
    }
  }

  async #restart(): Promise<void> {
    const { folder, logger } = this.#options;
    const startedAt = performance.now();
    // When these fail, the next start fails too, with a more specific error.
    await endOrphan({ folder, socket: this.socket, logger }).catch((error: unknown) =>
      logger.error({ reason: describeError(error) }, 'embedded database cannot be started'),
    );
    if (this.#stopping.signal.aborted) return;
    this.#current = startServer(this.#options, this.#choice);
    void this.#current.ready.then((isReady) => {
      const tookMs = Math.round(performance.now() - startedAt);
      if (isReady) logger.warn({ tookMs }, 'embedded database accepts connections again');
    });
  }
}

/** `readyAtMs`: when the server began to accept connections; infinite when it exited before that. */
async function untilExit(server: ServerProcess): Promise<{ readyAtMs: number; exit: ServerExit }> {
  const readyAtMs = (await server.ready) ? performance.now() : Number.POSITIVE_INFINITY;
  return { readyAtMs, exit: await server.exited };
}

/** Starts a server and waits until it accepts connections. Throws an `OperatorError` when it does not start. */
function startFirst(place: ServerPlace, choice: ServerChoice): Promise<ServerProcess> {
  const start = async () => {
    const server = startServer(place, choice);
    if (await server.ready) return server;
    throw await startFailure(place.folder, await server.exited);
  };
  return retry(start, { delaysMs: STILL_IN_USE_DELAYS_MS, isPassing: (error) => STILL_IN_USE.test(String(error)) });
}

async function startFailure(folder: string, { code, signal, failures }: ServerExit): Promise<OperatorError> {
  const parent = dirname(folder);
  const reason = (failures.join('; ') || `postgres ended with ${signal ?? `code ${code}`}`).replace(/\.$/, '');
  // A full disk damages nothing, so nothing has to be restored.
  const free = await freeBytes(parent).catch(() => null);
  const next =
    free !== null && free < MIN_FREE_BYTES
      ? `${describeFree(parent, free)}. Free some and start again.`
      : waysOut(folder);
  return new OperatorError(`The embedded database in ${folder} cannot be opened: ${reason}. ${next}`);
}

async function hasFullDisk(folder: string): Promise<boolean> {
  const free = await freeBytes(dirname(folder)).catch(() => null);
  return free !== null && free < MIN_FREE_BYTES;
}
