/** Online backup of the PostgreSQL server of a test run, and a second server on the copy. */
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listClusterFiles } from '../../src/backup/cluster-files.ts';
import { startBaseBackup, stopBaseBackup } from '../../src/backup/store.ts';
import type { Database } from '../../src/db/db.ts';
import { startEmbedded } from '../../src/db/embedded/open-embedded.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { SERVER_FOLDER_VARIABLE } from '../database.ts';

/** Copies the cluster of a running server to a new folder, with the WAL that makes the copy consistent. */
export function backUpServer(db: Database, copy: string): Promise<void> {
  return db.withSession(async (session) => {
    const { firstSegment } = await startBaseBackup(session, 'cluster');
    const folder = process.env[SERVER_FOLDER_VARIABLE] ?? '';
    const { folders, files } = await listClusterFiles(folder);
    for (const path of folders) await mkdir(join(copy, path), { recursive: true, mode: 0o700 });
    for (const { path } of files) await copyExisting(folder, copy, path);
    const { label } = await stopBaseBackup(session);
    await writeFile(join(copy, 'backup_label'), label);
    const segments = (await readdir(join(folder, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name));
    for (const name of segments.filter((each) => each >= firstSegment))
      await copyExisting(folder, copy, `pg_wal/${name}`);
  });
}

/** A file that was dropped since it was listed is dropped by recovery, too. */
async function copyExisting(from: string, to: string, path: string): Promise<void> {
  await mkdir(dirname(join(to, path)), { recursive: true, mode: 0o700 });
  await copyFile(join(from, path), join(to, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Starts a server on a copy. `url`: that of a database on the first server. */
export async function startCopy(copy: string, url: string): Promise<{ url: string; stop(): Promise<void> }> {
  const logger = createLogger('silent');
  const server = await startEmbedded({ folder: copy, logger, processes: 4, onGiveUp: () => {} });
  const restored = new URL(url);
  restored.searchParams.set('host', server.socketFolder);
  return { url: restored.href, stop: server.stop };
}
