import { open, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/**
 * Makes the files of tables durable. LanceDB renames complete files into place but does not fsync them, so after a
 * power failure the newest could be empty. Files are immutable, so each is synced once.
 */
export class FileSyncer {
  /** Synced files of each table. A sync costs the files of one table, however many tables there are. */
  readonly #synced = new Map<string, ReadonlySet<string>>();

  /** Marks the existing files of all tables of an index as durable. */
  async skipExisting(folder: string): Promise<void> {
    const files = Map.groupBy(await listFiles(folder), ({ path }) => tableFolder(folder, path));
    for (const [table, existing] of files) this.#synced.set(table, new Set(existing.map(({ path }) => path)));
  }

  /** Syncs the files added to a table since the last call, then their folders. Skips files deleted meanwhile. */
  async sync(table: string): Promise<void> {
    const files = await listFiles(table);
    const synced = this.#synced.get(table);
    const added = files.filter(({ path }) => synced?.has(path) !== true);
    for (const { path } of added) await syncPath(path);
    for (const parent of new Set(added.map((file) => file.parent))) await syncPath(parent);
    if (files.length === 0) this.#synced.delete(table);
    else this.#synced.set(table, new Set(files.map(({ path }) => path)));
  }
}

/** The folder of the table that a file below the folder of an index belongs to. */
const tableFolder = (folder: string, path: string): string =>
  join(folder, relative(folder, path).split(sep)[0] as string);

async function listFiles(folder: string): Promise<{ path: string; parent: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ignoreMissing([]));
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => ({ path: join(parentPath, name), parent: parentPath }));
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r').catch(ignoreMissing(null));
  if (file === null) return;
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const ignoreMissing =
  <T>(fallback: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return fallback;
    throw error;
  };
