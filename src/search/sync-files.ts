import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Makes the files of a folder durable. LanceDB renames complete files into place but does not fsync them, so after a
 * power failure the newest could be empty. Files are immutable, so each is synced once.
 */
export class FileSyncer {
  readonly #synced = new Set<string>();

  /** Marks the existing files of a folder as durable. */
  async skipExisting(folder: string): Promise<void> {
    for (const { path } of await listFiles(folder)) this.#synced.add(path);
  }

  /** Syncs the files added since the last call, then their folders. Skips files that are deleted meanwhile. */
  async sync(folder: string): Promise<void> {
    const files = await listFiles(folder);
    const added = files.filter(({ path }) => !this.#synced.has(path));
    for (const { path } of added) await syncPath(path);
    for (const parent of new Set(added.map((file) => file.parent))) await syncPath(parent);
    const present = new Set(files.map(({ path }) => path));
    for (const path of this.#synced)
      if (path.startsWith(join(folder, '/')) && !present.has(path)) this.#synced.delete(path);
    for (const { path } of added) this.#synced.add(path);
  }
}

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
