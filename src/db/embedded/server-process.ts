import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../lib/logger.ts';
import { launch } from './launch.ts';
import { readPidFile } from './postmaster.ts';
import { programPath } from './runtime.ts';
import { forwardLog } from './server-log.ts';
import type { ServerChoice } from './server-user.ts';
import { serverArguments } from './settings.ts';

/** `pg_ctl` reads the same file for the same word, ten times a second. */
const POLL_MS = 5;
/** PostgreSQL's fast shutdown takes as long as its last checkpoint; then immediate shutdown, which leaves recovery to the next start. */
const FAST_SHUTDOWN_MS = 15_000;
/** PostgreSQL kills its own processes five seconds after an immediate shutdown. */
const IMMEDIATE_SHUTDOWN_MS = 8_000;

/** How a server ended. */
export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Its last fatal messages. */
  failures: readonly string[];
}

/** One run of `postgres`. */
export interface ServerProcess {
  pid: number | null;
  /** Resolves when it accepts connections: after crash recovery, which has no limit of time. False: it ended before. */
  ready: Promise<boolean>;
  exited: Promise<ServerExit>;
  /** Stops the server; resolves when it has ended. May be called twice. */
  stop(): Promise<void>;
}

/** Starts `postgres` on a cluster. Its log goes to `logger`. */
export function startServer(folder: string, { user, runtime }: ServerChoice, logger: Logger): ServerProcess {
  const command = [programPath(runtime, 'postgres'), ...serverArguments(user.dataPath(folder))];
  const child = launch(user, folder, command);
  const log = child.stderr === null ? { failures: [] } : forwardLog(child.stderr, logger);
  // A process that exits without stopping the server takes it along; Linux does that for a killed one, too (`server-user.ts`).
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
