import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Folders whose content a base backup leaves out, as `pg_basebackup` does: the server creates it again, or recovery
 * reads it from the archive.
 */
const EMPTIED: ReadonlySet<string> = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
/** State of the running server, and files that an earlier backup or restore left. */
const SKIPPED =
  /^(postmaster\.(pid|opts)|backup_label(\.old)?|tablespace_map(\.old)?|recovery\.(signal|done)|standby\.signal|write-probe)$|^\.s\.PGSQL|(^|\/)pgsql_tmp|(^|\/)pg_internal\.init/;
/** Copied last: its checkpoint must not be older than the copied tables. */
const CONTROL_FILE = 'global/pg_control';

/** The files and folders of a database cluster that belong to a base backup, by path relative to the cluster. */
export interface ClusterFiles {
  folders: string[];
  /** `pg_control` is the last one. `bytes`: size when listed; files change while the server runs. */
  files: { path: string; bytes: number }[];
}

/** Lists the files of a cluster whose server may be running. */
export async function listClusterFiles(cluster: string): Promise<ClusterFiles> {
  const listed: ClusterFiles = { folders: ['pg_wal/archive_status', 'pg_wal/summaries'], files: [] };
  const pending = [''];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await readdir(join(cluster, folder), { withFileTypes: true }).catch(ignoreMissing)) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (SKIPPED.test(path)) continue;
      if (entry.isDirectory()) {
        listed.folders.push(path);
        if (!EMPTIED.has(path)) pending.push(path);
      } else if (entry.isFile() && path !== CONTROL_FILE) {
        const stats = await stat(join(cluster, path)).catch(() => null);
        if (stats !== null) listed.files.push({ path, bytes: stats.size });
      }
    }
  }
  listed.files.push({ path: CONTROL_FILE, bytes: (await stat(join(cluster, CONTROL_FILE))).size });
  return listed;
}

/** The server has deleted the folder or file since it was listed. */
function ignoreMissing(error: unknown): [] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}
