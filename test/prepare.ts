import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { createCluster } from '../src/db/embedded/cluster-folder.ts';
import { launch, run } from '../src/db/embedded/launch.ts';
import { copyRuntime, findRuntime, programPath } from '../src/db/embedded/runtime.ts';
import { chooseServer, readUserContext } from '../src/db/embedded/server-user.ts';
import { DATABASE_NAME, DATABASE_USER, SOCKET_PORT, serverArguments } from '../src/db/embedded/settings.ts';
import { openSocketFolder } from '../src/db/embedded/socket-folder.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { ProcessLease } from '../src/leases/process-lease.ts';
import { createLogger } from '../src/lib/logger.ts';
import { JobQueue } from '../src/queue/job-queue.ts';
import { databaseUrl, SERVER_FOLDER_VARIABLE, SERVER_URL_VARIABLE, TEMPLATE_DATABASE } from './database.ts';

/** Memory file system of Linux. A database is copied there in 15 ms and dropped in 5 ms, at no cost of disk writes. */
const MEMORY_FOLDER = '/dev/shm';
/** A full run uses at most 60 databases of 9 MB at once, beside WAL. Containers often have 64 MB only. */
const MIN_MEMORY_FOLDER_BYTES = 2 * 2 ** 30;

/**
 * Settings of a server whose data nobody needs after a crash. Autovacuum would spend CPU on databases that live for
 * seconds. Two test files at a time open up to six processes with 10 connections each.
 */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '128MB',
  autovacuum: 'off',
  max_connections: '300',
};

const POLL_MS = 10;

/** What the test processes of a run share. */
export interface Prepared {
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** Starts the PostgreSQL server of a test run and makes the template that every test copies its database from. */
export async function prepare(): Promise<Prepared> {
  const parent = fastestFolder();
  removeLeftovers(parent);
  const folder = mkdtempSync(join(parent, `quire-test-${process.pid}-`));
  const cluster = join(folder, 'postgres');
  const server = await startPostgres(cluster);
  await makeTemplate(server.url);
  return {
    environment: { [SERVER_URL_VARIABLE]: server.url, [SERVER_FOLDER_VARIABLE]: cluster },
    close: async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function fastestFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    return bavail * bsize >= MIN_MEMORY_FOLDER_BYTES ? MEMORY_FOLDER : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Removes the folders of runs that were killed. The name of a folder begins with the process id of its run. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = Number(/^quire-test-(\d+)-/.exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A database with all tables, and nothing in them: as a first start leaves it before the first key. */
async function makeTemplate(serverUrl: string): Promise<void> {
  const admin = new Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`create database ${TEMPLATE_DATABASE}`);
  const db = await openPostgres(databaseUrl(serverUrl, TEMPLATE_DATABASE), createLogger('silent'));
  await db.migrate();
  const logger = createLogger('silent');
  const jobs = await JobQueue.open({ db, lease: new ProcessLease({ db, logger }), logger });
  await jobs.stop();
  await db.close();
  // A copy needs the template without connections, and a flushed one copies faster.
  await admin.query(`alter database ${TEMPLATE_DATABASE} with is_template true allow_connections false`);
  await admin.query('checkpoint');
  await admin.end();
}

/**
 * Starts the embedded PostgreSQL with settings for tests, as the user that the service would choose. It ends with this
 * process.
 */
async function startPostgres(folder: string): Promise<{ url: string; close(): Promise<void> }> {
  const choice = await chooseServer(readUserContext(), findRuntime(), {
    run: (user, command) => run(user, dirname(folder), command),
    copyRuntime,
  });
  await createCluster(folder, choice);
  const { user, runtime } = choice;
  // The last value of a setting counts.
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = launch(user, folder, [
    programPath(runtime, 'postgres'),
    ...serverArguments(user.dataPath(folder)),
    ...settings,
  ]);
  const exited = once(server, 'exit');
  server.stderr?.resume();
  const socket = openSocketFolder(folder);
  const url = `postgres://${DATABASE_USER}@localhost/${DATABASE_NAME}?host=${encodeURIComponent(socket.path)}&port=${SOCKET_PORT}`;
  await waitForConnections(url, () => server.exitCode !== null);
  return {
    url,
    close: async () => {
      server.kill('SIGINT');
      await exited;
      socket.remove();
    },
  };
}

async function waitForConnections(url: string, hasExited: () => boolean): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (hasExited()) throw error;
      await delay(POLL_MS);
    }
  }
}
