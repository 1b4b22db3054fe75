import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { type Static, Type } from 'typebox';
import { readJsonFile, writeJsonFile } from '../../lib/json-file.ts';

/** Read size while rehashing: half a millisecond of CPU time, so that the event loop is not blocked. */
const READ_BYTES = 524_288;

const PartialState = Type.Object({
  /** `from` of its `ModelSource`. */
  from: Type.String(),
  /** A strong ETag. */
  etag: Type.Union([Type.String(), Type.Null()]),
  sha256: Type.Union([Type.String(), Type.Null()]),
  /** Length of the whole file. */
  bytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});

/** Metadata of the whole file: a transfer is resumed only for the same file. */
export type PartialState = Static<typeof PartialState>;

/** A file during its download, with its metadata beside it. Survives the process; used by one process at a time. */
export class PartialFile {
  readonly path: string;
  readonly #file: FileHandle;
  /** Hash of the whole content so far. */
  #hash: Hash = createHash('sha256');
  #size = 0;
  #state: PartialState | null = null;
  /** Bytes that an earlier process received. */
  #resumedBytes = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Resumes and rehashes the partial file of the same source; otherwise starts an empty one. */
  static async open(path: string, from: string, signal: AbortSignal): Promise<PartialFile> {
    const state = await readJsonFile(statePath(path), PartialState);
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

  /** Whether an earlier process received a part. */
  get isResumed(): boolean {
    return this.#resumedBytes > 0;
  }

  /** Stores the metadata; survives a killed process. */
  describe(state: PartialState): Promise<void> {
    this.#state = state;
    return writeJsonFile(statePath(this.path), state);
  }

  async append(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at);
      this.#hash.update(bytes.subarray(at, at + bytesWritten));
      this.#size += bytesWritten;
      at += bytesWritten;
    }
  }

  /** SHA-256 of the content so far, hexadecimal. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** The first `bytes` bytes. */
  async head(bytes: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  }

  /** Deletes content and metadata. */
  async clear(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = createHash('sha256');
    this.#size = 0;
    this.#resumedBytes = 0;
    this.#state = null;
    await rm(statePath(this.path), { force: true });
  }

  /** fsync. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Closes the file; content and metadata stay on the disk. */
  close(): Promise<void> {
    return this.#file.close();
  }

  /** Deletes the metadata of a completed file. */
  async deleteMetadata(): Promise<void> {
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
    this.#resumedBytes = this.#size;
  }
}

/** Deletes a partial file and its metadata. */
export async function removePartial(path: string): Promise<void> {
  await Promise.all([path, statePath(path)].map((name) => rm(name, { force: true })));
}

function statePath(path: string): string {
  return `${path}.json`;
}
