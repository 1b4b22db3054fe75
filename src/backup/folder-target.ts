import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { destroyOnAbort } from '../blobs/destroy-on-abort.ts';
import { explainRejectedWrite } from '../lib/store-unavailable.ts';
import { syncFolder } from '../lib/sync-folder.ts';
import { type BackupTarget, requireObjectName, type StoredObject } from './target.ts';

/** Other users of the machine have no access. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Subfolder of incomplete objects: a rename is atomic only within a file system. */
const INCOMPLETE = 'unfinished';

/** Age after which no process writes to an incomplete object any more. */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Opens a folder as a backup target. The first `put` creates it, and removes what killed processes left there. */
export function openFolderTarget(folder: string): BackupTarget {
  let cleaned: Promise<void> | null = null;
  const objectPath = (name: string) => {
    requireObjectName(name);
    return join(folder, name);
  };
  return {
    location: folder,
    put: async (name, source, signal) => {
      const path = objectPath(name);
      const temporary = join(folder, INCOMPLETE, randomBytes(12).toString('hex'));
      try {
        await mkdir(dirname(temporary), { recursive: true, mode: FOLDER_MODE });
        cleaned ??= removeAbandoned(dirname(temporary));
        await cleaned;
        await writeSynced(temporary, source, signal);
        const created = await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
        await rename(temporary, path);
        await syncFolder(dirname(path));
        if (created !== undefined) await syncFolder(dirname(created));
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {});
        throw explainRejectedWrite(`The backup target ${folder}`, error);
      }
    },
    read: async (name, signal) => {
      try {
        const path = objectPath(name);
        if (!(await stat(path)).isFile()) return null;
        const file = await open(path, 'r');
        return destroyOnAbort(file.createReadStream(), signal);
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    list: (prefix, signal) => listObjects(folder, prefix, signal),
    delete: async (name) => {
      await rm(objectPath(name), { force: true });
      await removeEmpty(folder, dirname(name));
    },
    close: async () => {},
  };
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const { name } of await readEntries(folder)) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats !== null && stats.mtimeMs < Date.now() - ABANDONED_MS) await rm(path, { force: true }).catch(() => {});
  }
}

async function writeSynced(path: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for await (const bytes of source) {
      signal.throwIfAborted();
      for (let at = 0; at < bytes.byteLength; ) at += (await file.write(bytes, at)).bytesWritten;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Walks folder by folder, so that memory depends on the largest folder only. */
async function* listObjects(folder: string, prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
  const pending = [prefix.slice(0, prefix.lastIndexOf('/') + 1)];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    signal.throwIfAborted();
    for (const entry of await readEntries(join(folder, path))) {
      const name = path + entry.name;
      if (name === INCOMPLETE) continue;
      if (entry.isDirectory()) {
        if (`${name}/`.startsWith(prefix) || prefix.startsWith(`${name}/`)) pending.push(`${name}/`);
      } else if (name.startsWith(prefix)) {
        const stats = await stat(join(folder, name)).catch(() => null);
        if (stats !== null) yield { name, bytes: stats.size, modifiedMs: stats.mtimeMs };
      }
    }
  }
}

/** Removes the empty folders of a deleted base backup. Those of other objects are written to at any time. */
async function removeEmpty(folder: string, path: string): Promise<void> {
  for (let at = path; at.startsWith('base/'); at = dirname(at)) {
    try {
      await rmdir(join(folder, at));
    } catch {
      return;
    }
  }
}

async function readEntries(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
