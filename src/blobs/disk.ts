import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { syncFolder } from '../lib/sync-folder.ts';
import { requireWritable } from '../lib/writable-folder.ts';
import { BlobMissing, type BlobStore, requireBlobKey, type StoredBlob } from './blob-store.ts';
import { Meter } from './meter.ts';

/** What people store is nobody else's to read on this machine. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Where bytes lie until they are complete. A subfolder, because a rename must not leave the file system. */
const UNFINISHED = 'unfinished';

/**
 * Opens the folder as a store, and creates it when it is not there. Throws a `OperatorError` when it cannot be used. One
 * folder may be open in several processes of one machine.
 */
export async function openDisk(folder: string): Promise<BlobStore> {
  try {
    await mkdir(join(folder, UNFINISHED), { recursive: true, mode: FOLDER_MODE });
    await syncFolder(folder);
    await checkWritable(folder);
  } catch (error) {
    throw new OperatorError(`The folder of files ${folder} cannot be used: ${describeError(error)}`);
  }
  const unfinishedPath = (key: string) => join(folder, UNFINISHED, key);
  // 256 folders: a million blobs are then some four thousand in each.
  const pathOf = (key: string) => {
    requireBlobKey(key);
    return join(folder, key.slice(0, 2), key);
  };
  return {
    kind: 'folder',
    put: async (key, source, signal) => {
      const path = pathOf(key);
      const temporary = unfinishedPath(key);
      try {
        const stored = await writeSynced(temporary, source, signal);
        await makeFolder(dirname(path));
        await rename(temporary, path);
        await syncFolder(dirname(path));
        return stored;
      } catch (error) {
        await rm(temporary, { force: true });
        await rm(path, { force: true });
        throw error;
      }
    },
    read: async (key, range, signal) => {
      signal.throwIfAborted();
      const file = await openExisting(pathOf(key), key);
      return addAbortSignal(signal, file.createReadStream(range ?? {}));
    },
    size: (key) => sizeOf(pathOf(key)),
    delete: async (key) => {
      await rm(pathOf(key), { force: true });
      await rm(unfinishedPath(key), { force: true });
    },
    check: () => requireWritable(join(folder, UNFINISHED)),
    close: async () => {},
  };
}

/** The bytes are on the disk, not only with the operating system, when it resolves. */
async function writeSynced(path: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredBlob> {
  const meter = new Meter();
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for await (const piece of meter.pass(source, signal)) {
      for (let at = 0; at < piece.byteLength; ) at += (await file.write(piece, at)).bytesWritten;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return meter.result();
}

async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  // A new folder is an entry of its parent, which a power cut can lose too.
  if (made !== undefined) await syncFolder(dirname(folder));
}

async function openExisting(path: string, key: string) {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw isAbsent(error) ? new BlobMissing(key) : error;
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

async function checkWritable(folder: string): Promise<void> {
  await access(join(folder, UNFINISHED), constants.R_OK | constants.W_OK | constants.X_OK);
}

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
