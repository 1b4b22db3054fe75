import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** Bytes that are read at a time to be hashed again: half a millisecond of computing, so others are not held up. */
const READ_BYTES = 524_288;

const PartialState = Type.Object({
  from: Type.String(),
  etag: Type.Union([Type.String(), Type.Null()]),
  sha256: Type.Union([Type.String(), Type.Null()]),
  bytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});

/** What is known of the whole file, so that only the same one is gone on with. */
export interface PartialState {
  /** `from` of its `ModelSource`. */
  from: string;
  /** A strong validator of the server that sent it. */
  etag: string | null;
  sha256: string | null;
  /** Of the whole. */
  bytes: number | null;
}

/** A file that is being fetched, and beside it what it is to become. It survives the process; one process at a time. */
export class PartialFile {
  readonly path: string;
  readonly #file: FileHandle;
  /** Of all that is in the file. */
  #hash: Hash = createHash('sha256');
  #size = 0;
  #state: PartialState | null = null;
  /** Bytes that were there when it was opened: they came from another process. */
  #inherited = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Opens what an earlier attempt left for the same source, and hashes it again; otherwise begins anew. */
  static async open(path: string, from: string, signal: AbortSignal): Promise<PartialFile> {
    const state = await readState(statePath(path));
    const partial = new PartialFile(path, await open(path, 'a+'));
    try {
      if (state?.from === from) await partial.#adopt(state, signal);
      else await partial.clear();
    } catch (error) {
      await partial.close();
      throw error;
    }
    return partial;
  }

  get size(): number {
    return this.#size;
  }

  get state(): PartialState | null {
    return this.#state;
  }

  /** Whether a part of it was there before this process. */
  get isResumed(): boolean {
    return this.#inherited > 0;
  }

  /** Remembers, durably enough for a killed process, which file this is the beginning of. */
  async describe(state: PartialState): Promise<void> {
    this.#state = state;
    const temporary = `${statePath(this.path)}.new`;
    await writeFile(temporary, `${JSON.stringify(state)}\n`);
    await rename(temporary, statePath(this.path));
  }

  async append(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at);
      this.#hash.update(bytes.subarray(at, at + bytesWritten));
      this.#size += bytesWritten;
      at += bytesWritten;
    }
  }

  /** The SHA-256 of what is in it, in hexadecimal. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** The first bytes of it. */
  async head(bytes: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  }

  /** Forgets everything that came. */
  async clear(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = createHash('sha256');
    this.#size = 0;
    this.#inherited = 0;
    this.#state = null;
    await rm(statePath(this.path), { force: true });
  }

  /** Waits until what was written is on the disk. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Leaves both files, to be gone on with. */
  close(): Promise<void> {
    return this.#file.close();
  }

  /** The file has become what it was to be: what is known of the rest is of no use any more. */
  async forget(): Promise<void> {
    await rm(statePath(this.path), { force: true });
  }

  async #adopt(state: PartialState, signal: AbortSignal): Promise<void> {
    this.#state = state;
    const buffer = Buffer.alloc(READ_BYTES);
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await this.#file.read(buffer, 0, READ_BYTES, this.#size);
      if (bytesRead === 0) break;
      this.#hash.update(buffer.subarray(0, bytesRead));
      this.#size += bytesRead;
    }
    this.#inherited = this.#size;
  }
}

/** Deletes what is left of a transfer. */
export async function removePartial(path: string): Promise<void> {
  await Promise.all([path, statePath(path)].map((name) => rm(name, { force: true })));
}

function statePath(path: string): string {
  return `${path}.json`;
}

async function readState(path: string): Promise<PartialState | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Value.Check(PartialState, value) ? value : null;
  } catch {
    // None, or half of one: what came is fetched again.
    return null;
  }
}
