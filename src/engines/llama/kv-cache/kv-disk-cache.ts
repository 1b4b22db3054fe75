import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How llama.cpp begins the state of a sequence: `LLAMA_STATE_SEQ_MAGIC` of its `llama.h`, then a version. */
const STATE_MAGIC = 0x67677371;
/** Bytes before the tokens: magic, version, number of tokens. */
const HEAD_BYTES = 12;
const SNAPSHOT_NAME = /^([0-9a-f]{32})-[0-9a-f-]{36}\.state$/;
/** Says for which model the folder's states are. */
const IDENTITY_FILE = 'model.txt';
/** States hold what was said: nobody else on the machine may read them. */
const PRIVATE_FOLDER = 0o700;
const UNCOMMITTED_MODE = 0o600;
/** A state that is whole and on the disk can only be read. After a crash or a power cut the others are worth nothing. */
const COMMITTED_MODE = 0o400;
const OWNER_WRITE_BIT = 0o200;

/** A state in a file. */
export interface KvSnapshot {
  /** Its name within the folder. */
  id: string;
  /** `scopeKey` of the scope it belongs to. */
  scope: string;
  bytes: number;
  tokens: Int32Array;
}

/** The name under which a scope's states are kept: says nothing of the scope to who reads a file listing. */
export function scopeKey(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 32);
}

/**
 * The folder of one model's saved states. The files are all there is: what they hold stands in their first bytes, and
 * when they were last used is their time of change.
 */
export class KvDiskCache {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Opens the folder, creates it where needed, and reads what is in it, the least recently used first. States of
   * another `model` (any text that identifies one) and unfinished files are deleted.
   */
  static async open(folder: string, model: string): Promise<{ files: KvDiskCache; snapshots: KvSnapshot[] }> {
    const known = await readFile(join(folder, IDENTITY_FILE), 'utf8').catch(() => null);
    if (known !== model) await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    await writeFile(join(folder, IDENTITY_FILE), model, { mode: UNCOMMITTED_MODE });
    const snapshots: (KvSnapshot & { usedAtMs: number })[] = [];
    for (const name of await readdir(folder)) {
      if (name === IDENTITY_FILE) continue;
      const path = join(folder, name);
      const state = await readSnapshot(path, name).catch(() => null);
      if (state === null) await rm(path, { recursive: true, force: true });
      else snapshots.push(state);
    }
    snapshots.sort((a, b) => a.usedAtMs - b.usedAtMs);
    return { files: new KvDiskCache(folder), snapshots };
  }

  path(id: string): string {
    return join(this.#folder, id);
  }

  /**
   * Has `write` write a file (and say how many bytes it has), for a scope with this `scopeKey`. Throws what the system
   * says when it cannot be written; nothing is left then. A later start finds it only after `keep`.
   */
  async write(scope: string, write: (path: string) => Promise<number>): Promise<{ id: string; bytes: number }> {
    const id = `${scope}-${randomUUID()}.state`;
    try {
      // Created before it is written to, for it must never be readable by others.
      await (await open(this.path(id), 'wx', UNCOMMITTED_MODE)).close();
      return { id, bytes: await write(this.path(id)) };
    } catch (error) {
      await this.remove(id);
      throw error;
    }
  }

  /** Sees to it that a state is on the disk, and marks it so. One that was removed meanwhile is no failure. */
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

  async remove(id: string): Promise<void> {
    await rm(this.path(id), { force: true });
  }

  /** Notes a use, for the next start. */
  async touch(id: string): Promise<void> {
    const now = new Date();
    // A file that is gone meanwhile needs no date.
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
    const head = Buffer.alloc(HEAD_BYTES);
    await file.read(head, 0, HEAD_BYTES, 0);
    const count = head.readUInt32LE(8);
    if (head.readUInt32LE(0) !== STATE_MAGIC || HEAD_BYTES + 4 * count >= size) return null;
    const tokens = new Int32Array(count);
    await file.read(new Uint8Array(tokens.buffer), 0, 4 * count, HEAD_BYTES);
    return { id: name, scope, bytes: size, tokens, usedAtMs: mtimeMs };
  } finally {
    await file.close();
  }
}
