import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../lib/logger.ts';
import { launch } from './launch.ts';
import { readPidFile } from './postmaster.ts';
import { programPath } from './runtime.ts';
import { forwardLog } from './server-log.ts';
import type { ServerChoice } from './server-user.ts';
import { serverArguments } from './settings.ts';

/** Polling interval. `pg_ctl` polls the same file for the same state, ten times a second. */
const POLL_MS = 5;
/**
 * Time limit of a fast shutdown, which takes as long as its last checkpoint. Then the server is shut down immediately,
 * and the next start recovers.
 */
const FAST_SHUTDOWN_MS = 15_000;
/** PostgreSQL kills its own processes five seconds after an immediate shutdown. */
const IMMEDIATE_SHUTDOWN_MS = 8_000;

/** Exit of a server. */
export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Its last fatal messages. */
  failures: readonly string[];
}

/** One run of `postgres`. */
export interface ServerProcess {
  pid: number | null;
  /**
   * Resolves with true when it accepts connections: after crash recovery, which has no time limit. Resolves with false
   * when it exits before.
   */
  ready: Promise<boolean>;
  exited: Promise<ServerExit>;
  /** Stops the server. Resolves when it has exited. May be called twice. */
  stop(): Promise<void>;
}

/** What a server runs on. */
export interface ServerPlace {
  /** The database folder. */
  folder: string;
  /** Its log goes there. */
  logger: Logger;
  /** Processes of the service that connect to it; 1 by default. */
  processes?: number;
  /** Settings that replace those of `SERVER_SETTINGS`. */
  settings?: Readonly<Record<string, string>>;
}

/** Starts `postgres` on a cluster. */
export function startServer(
  { folder, processes, settings, logger }: ServerPlace,
  { user, runtime }: ServerChoice,
): ServerProcess {
  const command = [
    programPath(runtime, 'postgres'),
    ...serverArguments(user.dataPath(folder), { processes, settings }),
  ];
  const child = launch(user, folder, command);
  const log = child.stderr === null ? { failures: [] } : forwardLog(child.stderr, logger);
  // Kills the server when this process exits without stopping it; on Linux also when this process is killed (`server-
  // user.ts`).
  const endWithProcess = () => void child.kill('SIGINT');
  process.once('exit', endWithProcess);
  let hasExited = false;
  const exited = new Promise<ServerExit>((resolve) => {
    const end = (exit: ServerExit) => {
      hasExited = true;
      process.removeListener('exit', endWithProcess);
      resolve(exit);
    };
    child.once('error', (error) => end({ code: null, signal: null, failures: [error.message] }));
    child.once('close', (code, signal) => end({ code, signal, failures: log.failures }));
  });
  const pid = child.pid ?? null;
  const isReady = async () => {
    const file = await readPidFile(folder);
    return file?.pid === pid && file?.status === 'ready';
  };
  const waitUntilReady = async () => {
    while (!hasExited) {
      if (await isReady()) return true;
      await delay(POLL_MS);
    }
    return false;
  };
  const stop = async () => {
    for (const [signal, limitMs] of [
      ['SIGINT', FAST_SHUTDOWN_MS],
      ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
      ['SIGKILL', null],
    ] as const) {
      if (hasExited) return;
      if (signal !== 'SIGINT') logger.error({ pid, signal }, 'embedded database does not stop');
      child.kill(signal);
      const limit = limitMs === null ? [] : [delay(limitMs, undefined, { ref: false })];
      await Promise.race([exited, ...limit]);
    }
    await exited;
  };
  return { pid, ready: waitUntilReady(), exited, stop };
}
