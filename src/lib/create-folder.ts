import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './sync-folder.ts';

/** Names in a folder; none where it does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Creates a folder with content, all or nothing: `fill` creates it under the path that it is given (the same with `.new`), where nothing
 * is, and it gets its name at the end. What an interrupted attempt left is removed first. The folder may exist if it is empty; the one
 * that it lies in exists. One process at a time may create it.
 */
export async function createFolder(folder: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${folder}.new`;
  await rm(temporary, { recursive: true, force: true });
  try {
    await fill(temporary);
    // Not every system renames to a folder that exists, even if it is empty.
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
