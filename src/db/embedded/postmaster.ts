import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { isProcessRunning } from '../../lib/is-process-running.ts';
import type { Logger } from '../../lib/logger.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { readOptionalFile } from '../../lib/read-optional-file.ts';
import { CANNOT_CONNECT_NOW } from '../sql-states.ts';
import { readSystemIdentifier } from './cluster-folder.ts';
import { DATABASE_NAME, DATABASE_USER, SOCKET_PORT } from './settings.ts';
import { SOCKET_NAME, type SocketFolder } from './socket-folder.ts';

const PID_FILE = 'postmaster.pid';
/** Position of the server's state in its pid file. */
const STATUS_LINE = 7;
/** A local server accepts connections immediately; one that is stopped (SIGSTOP) never does. */
const CONNECT_TIMEOUT_MS = 2_000;
const POLL_MS = 20;
/** Interval of the log message that the service is still waiting. */
const PROGRESS_MS = 10_000;

/** Parsed `postmaster.pid`. */
export interface PidFile {
  pid: number;
  /** `starting`, `ready`, `stopping` or `standby`; empty during the first milliseconds. */
  status: string;
}

/** Parses `postmaster.pid`; null when it does not exist or contains no process id. */
export async function readPidFile(folder: string): Promise<PidFile | null> {
  const lines = (await readOptionalFile(join(folder, PID_FILE)))?.split('\n');
  const pid = Number(lines?.[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, status: lines?.[STATUS_LINE]?.trim() ?? '' } : null;
}

/**
 * Whether the process is a `postgres` whose working directory is this folder. The process id alone is not sufficient:
 * it may have been reused, which is common in containers.
 */
export function servesFolder(pid: number, folder: string): boolean {
  try {
    if (process.platform !== 'linux') {
      const command = execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
      return command.includes('postgres') && command.includes(folder);
    }
    const [found, expected] = [statSync(`/proc/${pid}/cwd`), statSync(folder)];
    const isInFolder = found.dev === expected.dev && found.ino === expected.ino;
    return isInFolder && readFileSync(`/proc/${pid}/comm`, 'latin1') === 'postgres\n';
  } catch {
    // The process does not exist, is a zombie, or belongs to another user, who cannot have this folder open.
    return false;
  }
}

/** Result of probing the socket of a folder. */
export type SocketState = 'closed' | 'busy' | 'ours' | 'foreign';

/**
 * Probes the socket of a folder. `closed`: no server. `busy`: a server that accepts no connections at the moment.
 * `ours`: a server that has this folder open.
 */
export async function identifyServer(folder: string, socket: SocketFolder): Promise<SocketState> {
  const client = new Client({
    host: socket.path,
    port: SOCKET_PORT,
    user: DATABASE_USER,
    database: DATABASE_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ identifier: string; folder: string }>(
      "select system_identifier::text as identifier, current_setting('data_directory') as folder from pg_control_system()",
    );
    const [server] = rows;
    const isSameCluster = server?.identifier === (await readSystemIdentifier(folder));
    return isSameCluster && isSameFolder(server?.folder ?? '', folder) ? 'ours' : 'foreign';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return 'closed';
    return code === CANNOT_CONNECT_NOW ? 'busy' : 'foreign';
  } finally {
    await client.end().catch(() => {});
  }
}

/** A server started in its working directory reports that directory. */
function isSameFolder(reported: string, folder: string): boolean {
  if (reported.startsWith('/proc/self/')) return true;
  try {
    return realpathSync(reported) === realpathSync(folder);
  } catch {
    return false;
  }
}

/** Dependencies of the check for a server that is still running. */
export interface OrphanContext {
  folder: string;
  socket: SocketFolder;
  logger: Logger;
}

/**
 * Stops a server that a killed service left running on the folder, and removes the pid file of one that has exited. The
 * caller holds the lock of the data folder, so no other service uses that server. Adopting it instead is not possible:
 * its log and exit are not observable. A fast shutdown takes 0.1 s. Crash recovery is waited for without a limit, and
 * logged.
 */
export async function endOrphan(context: OrphanContext): Promise<void> {
  const { folder, socket, logger } = context;
  const startedAt = performance.now();
  let signalled: number | null = null;
  let nextReportMs = 0;
  for (let file = await readPidFile(folder); file !== null; file = await readPidFile(folder)) {
    const { pid, status } = file;
    if (!servesFolder(pid, folder)) {
      const state = await identifyServer(folder, socket);
      if (state !== 'closed') throw unreachableServer(folder, pid);
      if (isProcessRunning(pid)) await removePidFiles(context, pid);
      return;
    }
    const waitedMs = performance.now() - startedAt;
    if (signalled !== pid) process.kill(pid, 'SIGINT');
    if (signalled !== pid || waitedMs >= nextReportMs) {
      logger.warn(
        { pid, status, waitedMs: Math.round(waitedMs) },
        'stopping the database server of an earlier process',
      );
      nextReportMs = waitedMs + PROGRESS_MS;
    }
    signalled = pid;
    await delay(POLL_MS);
  }
}

/**
 * PostgreSQL considers any process with the id in one of these files a running server, and would never start again.
 * They are not the interlock against a second server: that is a shared memory segment, which PostgreSQL finds by the
 * inode of the folder.
 */
async function removePidFiles({ folder, logger }: OrphanContext, pid: number): Promise<void> {
  logger.info({ pid }, 'removed the pid file of a database server that has ended');
  for (const name of [`${SOCKET_NAME}.lock`, SOCKET_NAME, PID_FILE]) await rm(join(folder, name), { force: true });
}

function unreachableServer(folder: string, pid: number): OperatorError {
  return new OperatorError(
    `A database server that this process cannot stop runs on ${folder} (process ${pid} in postmaster.pid), perhaps in another container. Stop it, then start Quire again.`,
  );
}
