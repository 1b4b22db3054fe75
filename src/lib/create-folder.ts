import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './sync-folder.ts';

/** Lists the names in a folder; empty when it does not exist. */
export async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Creates a folder with content atomically: `fill` creates the folder under a temporary path (`.new`), which is then
 * renamed. Removes the remains of an interrupted attempt first. The folder may exist if it is empty; its parent must
 * exist. Not safe for concurrent callers.
 */
export async function createFolder(folder: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${folder}.new`;
  await rm(temporary, { recursive: true, force: true });
  try {
    await fill(temporary);
    // Not every system can rename over an existing empty folder.
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(folder));
}
