import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readSnapshotTokens } from './snapshot-format.ts';

const SNAPSHOT_NAME = /^([0-9a-f]{32})-[0-9a-f-]{36}\.state$/;
/** Identifies the model and runtime that the snapshots in the folder belong to. */
const IDENTITY_FILE = 'model.txt';
/** Snapshots contain prompts: no other user of the machine may read them. */
const PRIVATE_FOLDER = 0o700;
const UNCOMMITTED_MODE = 0o600;
/** Set after the fsync. A file that is still writable at startup may be incomplete and is deleted. */
const COMMITTED_MODE = 0o400;
const OWNER_WRITE_BIT = 0o200;

/** A KV snapshot on the disk. */
export interface KvSnapshot {
  /** File name within the folder. */
  id: string;
  /** `scopeKey` of the scope that it belongs to. */
  scope: string;
  bytes: number;
  tokens: Int32Array;
}

/** Hash under which the snapshots of a scope are stored, so that a file listing does not reveal organizations. */
export function scopeKey(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 32);
}

/**
 * The folder with the KV snapshots of one model. There is no index: the tokens are read from the start of each file,
 * and the modification time is the time of the last use.
 */
export class KvDiskCache {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Opens the folder, creating it if missing, and lists its snapshots, the least recently used first. Deletes snapshots
   * of another `model` (any text that identifies model and runtime) and files that were not committed.
   */
  static async open(folder: string, model: string): Promise<{ files: KvDiskCache; snapshots: KvSnapshot[] }> {
    const identity = await readFile(join(folder, IDENTITY_FILE), 'utf8').catch(() => null);
    if (identity !== model) await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    await writeFile(join(folder, IDENTITY_FILE), model, { mode: UNCOMMITTED_MODE });
    const snapshots: (KvSnapshot & { usedAtMs: number })[] = [];
    for (const name of await readdir(folder)) {
      if (name === IDENTITY_FILE) continue;
      const path = join(folder, name);
      const snapshot = await readSnapshot(path, name).catch(() => null);
      if (snapshot === null) await rm(path, { recursive: true, force: true });
      else snapshots.push(snapshot);
    }
    snapshots.sort((a, b) => a.usedAtMs - b.usedAtMs);
    return { files: new KvDiskCache(folder), snapshots };
  }

  /** Path of a snapshot. */
  path(id: string): string {
    return join(this.#folder, id);
  }

  /** Path of a temporary file that does not exist. `open` deletes those that a crash left behind. */
  scratchPath(): string {
    return join(this.#folder, `${randomUUID()}.tmp`);
  }

  /**
   * Creates a snapshot for a `scopeKey`; `write` fills the file and resolves with its bytes. Deletes the file and
   * rethrows when `write` fails. The snapshot survives a restart only after `commit`.
   */
  async write(scope: string, write: (path: string) => Promise<number>): Promise<{ id: string; bytes: number }> {
    const id = `${scope}-${randomUUID()}.state`;
    try {
      // Created here, because llama.cpp would create it readable by others.
      await (await open(this.path(id), 'wx', UNCOMMITTED_MODE)).close();
      return { id, bytes: await write(this.path(id)) };
    } catch (error) {
      await this.remove(id);
      throw error;
    }
  }

  /** Flushes a snapshot to the disk and marks it as complete. Does nothing when it was removed. */
  async commit(id: string): Promise<void> {
    const file = await open(this.path(id), 'r+').catch(() => null);
    if (file === null) return;
    try {
      await file.sync();
      await file.chmod(COMMITTED_MODE);
    } finally {
      await file.close();
    }
  }

  /** Deletes a snapshot. May be called twice. */
  async remove(id: string): Promise<void> {
    await rm(this.path(id), { force: true });
  }

  /** Updates the time of the last use. */
  async touch(id: string): Promise<void> {
    const now = new Date();
    // Removed in the meantime.
    await utimes(this.path(id), now, now).catch(() => undefined);
  }
}

async function readSnapshot(path: string, name: string): Promise<(KvSnapshot & { usedAtMs: number }) | null> {
  const scope = SNAPSHOT_NAME.exec(name)?.[1];
  if (scope === undefined) return null;
  const { size, mtimeMs, mode } = await stat(path);
  if ((mode & OWNER_WRITE_BIT) !== 0) return null;
  const file = await open(path, 'r');
  try {
    const tokens = await readSnapshotTokens(file, size);
    return tokens && { id: name, scope, bytes: size, tokens, usedAtMs: mtimeMs };
  } finally {
    await file.close();
  }
}
