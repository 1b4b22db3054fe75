import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { explainRejectedWrite } from '../lib/store-unavailable.ts';
import { syncFolder } from '../lib/sync-folder.ts';
import { requireWritable } from '../lib/writable-folder.ts';
import { BlobNotFoundError, type BlobStore, requireBlobKey, type StoredBlob } from './blob-store.ts';
import { destroyOnAbort } from './destroy-on-abort.ts';
import { Meter } from './meter.ts';

/** Other users of the machine have no access. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Subfolder of incomplete blobs: a rename is atomic only within a file system. */
const INCOMPLETE = 'unfinished';

/**
 * Opens a folder as a blob store; creates the folder if needed. Throws an `OperatorError` when it cannot be used.
 * Several processes of one machine can share a folder.
 */
export async function openFolderStore(folder: string): Promise<BlobStore> {
  try {
    await mkdir(join(folder, INCOMPLETE), { recursive: true, mode: FOLDER_MODE });
    await syncFolder(folder);
    await checkWritable(folder);
  } catch (error) {
    throw new OperatorError(`The folder of files ${folder} cannot be used: ${describeError(error)}`);
  }
  const incompletePath = (key: string) => join(folder, INCOMPLETE, key);
  // 256 subfolders: one million blobs are 4,000 per subfolder.
  const blobPath = (key: string) => {
    requireBlobKey(key);
    return join(folder, key.slice(0, 2), key);
  };
  return {
    kind: 'folder',
    put: async (key, source, signal) => {
      const path = blobPath(key);
      const temporary = incompletePath(key);
      try {
        const stored = await writeSynced(temporary, source, signal);
        await makeFolder(dirname(path));
        await rename(temporary, path);
        await syncFolder(dirname(path));
        return stored;
      } catch (error) {
        await rm(temporary, { force: true });
        await rm(path, { force: true });
        throw explainRejectedWrite(`The folder of files ${folder}`, error);
      }
    },
    read: async (key, range, signal) => {
      signal.throwIfAborted();
      const file = await openExisting(blobPath(key), key);
      return destroyOnAbort(file.createReadStream(range ?? {}), signal);
    },
    size: (key) => fileSize(blobPath(key)),
    delete: async (key) => {
      await rm(blobPath(key), { force: true });
      await rm(incompletePath(key), { force: true });
    },
    check: () => requireWritable(join(folder, INCOMPLETE)),
    close: async () => {},
  };
}

/** Writes a file and flushes it to the disk (fsync). */
async function writeSynced(path: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredBlob> {
  const meter = new Meter();
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for await (const bytes of meter.pass(source, signal)) {
      for (let at = 0; at < bytes.byteLength; ) at += (await file.write(bytes, at)).bytesWritten;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return meter.result();
}

async function makeFolder(folder: string): Promise<void> {
  const created = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // A new folder is an entry of its parent, which must be synced too.
  if (created !== undefined) await syncFolder(dirname(folder));
}

async function openExisting(path: string, key: string) {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw isNotFound(error) ? new BlobNotFoundError(key) : error;
  }
}

async function fileSize(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

async function checkWritable(folder: string): Promise<void> {
  await access(join(folder, INCOMPLETE), constants.R_OK | constants.W_OK | constants.X_OK);
}

const isNotFound = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
