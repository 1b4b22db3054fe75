import { open } from 'node:fs/promises';

/** Flushes the entries of a folder (fsync), so that creations, renames and deletions survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
