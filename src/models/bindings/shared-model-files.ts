import { createReadStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { BlobNotFoundError, type BlobStore } from '../../blobs/blob-store.ts';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/db.ts';
import { hashFile } from '../../engines/llama/encoder/file-hash.ts';
import { readGgufFacts } from '../../engines/llama/gguf/gguf-facts.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { syncFolder } from '../../lib/sync-folder.ts';
import { freeBytes, MIN_FREE_BYTES } from '../../lib/writable-folder.ts';
import { writeCard } from '../downloads/model-card.ts';
import {
  cardPath,
  findModelFile,
  type ModelFile,
  modelPath,
  modelsFolder,
  partialPath,
} from '../downloads/model-files.ts';
import { PartialFile } from '../downloads/partial-file.ts';
import { lockPull } from '../downloads/pull-lock.ts';
import {
  deleteUnboundFile,
  insertMissingHash,
  insertModelFile,
  markModelFileLost,
  markModelFileStored,
  type StoredModelFile,
  selectModelFile,
  selectUnboundFiles,
} from './model-file-store.ts';
import type { StoredBinding, StoredBindings } from './store.ts';

/** Digits of a hash that name its blob. */
const KEY_DIGITS = 32;
/** Cached hashes of model files, in the data folder. */
const HASHES_FILE = 'model-hashes.json';
/** Origin in the card of a fetched file. */
const FROM_BLOBS = 'the blob store';

/** This machine lacks the file of a binding. The message is for callers, too. */
export class ModelFileMissing extends OperatorError {}

/** Dependencies of shared model files. */
export interface SharedFilesDeps {
  db: Database;
  blobs: BlobStore;
  config: Pick<Config, 'dataDir'>;
  logger: Logger;
}

/**
 * Model files that processes of several machines share: a bound file is stored as a blob by a process that has it, and
 * fetched by those that lack it. The hash in the binding keeps a process from serving another file of that name.
 */
export class SharedModelFiles {
  readonly #deps: SharedFilesDeps;
  readonly #stopping = new AbortController();
  /** Running downloads by hash. */
  readonly #fetches = new Map<string, Promise<void>>();
  #storing: Promise<void> = Promise.resolve();
  #hasFetched = false;
  #onFetched: () => void = () => {};

  private constructor(deps: SharedFilesDeps) {
    this.#deps = deps;
  }

  /** Null where one process uses the database, or where the blobs are in its own folder. */
  static open(deps: SharedFilesDeps): SharedModelFiles | null {
    return deps.db.isExclusive || deps.blobs.kind === 'folder' ? null : new SharedModelFiles(deps);
  }

  /** Calls `listener` after each completed download, and now when one has completed before. */
  onFetched(listener: () => void): void {
    this.#onFetched = listener;
    if (this.#hasFetched) listener();
  }

  /** Adds the hash of the file on this machine to a new binding. */
  async identify(binding: StoredBinding): Promise<StoredBinding> {
    const file = await this.#find(binding.model);
    return file === null ? binding : { ...binding, sha256: await this.#hash(file) };
  }

  /** Adds the hash to bindings of earlier versions if this machine has the file. Returns whether any had none. */
  async identifyAll({ ids }: StoredBindings): Promise<boolean> {
    const names = new Set(Object.values(ids).flatMap(({ model, sha256 }) => (sha256 == null ? [model] : [])));
    for (const name of names) {
      const file = await this.#find(name);
      if (file !== null) await insertMissingHash(this.#deps.db.sql, name, await this.#hash(file));
    }
    return names.size > 0;
  }

  /**
   * Resolves when this machine has the file of a binding. Otherwise begins to fetch it, and throws a `ModelFileMissing`
   * that says why its model cannot be served yet.
   */
  async require({ model: name, sha256 = null }: StoredBinding): Promise<void> {
    const file = await this.#find(name);
    if (file !== null && (sha256 === null || (await this.#hash(file)) === sha256)) return;
    if (file !== null && file.card === null) {
      throw new ModelFileMissing(
        `The file of the model '${name}' on this machine is another one than the bound one. Remove the file, and the bound one is fetched; or bind it with 'quire models use'.`,
      );
    }
    const stored = sha256 === null ? null : await selectModelFile(this.#deps.db.sql, sha256);
    if (stored?.storedAt == null) {
      throw new ModelFileMissing(
        `The model file '${name}' is not on this machine, and no process has stored it in the blob store yet.`,
      );
    }
    this.#fetch(name, stored);
    throw new ModelFileMissing(
      `The model file '${name}' (${Math.ceil(stored.bytes / 1e6)} MB) is being fetched to this machine.`,
    );
  }

  /** Stores bound files of this machine without a blob, and deletes blobs without a binding, in the background. */
  store({ ids }: StoredBindings): void {
    this.#storing = this.#storing
      .then(async () => {
        for (const binding of Object.values(ids)) await this.#storeFile(binding);
        for (const sha256 of await selectUnboundFiles(this.#deps.db.sql)) await this.#deleteBlob(sha256);
      })
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        this.#deps.logger.warn({ error: describeError(error) }, 'model file not stored, trying again later');
      });
  }

  /** Aborts downloads and uploads. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the process is stopping'));
    await Promise.allSettled([this.#storing, ...this.#fetches.values()]);
  }

  #find(name: string): Promise<ModelFile | null> {
    return findModelFile(this.#deps.config.dataDir, name);
  }

  async #hash({ path }: ModelFile): Promise<string> {
    return (await hashFile(path, join(this.#deps.config.dataDir, HASHES_FILE), this.#stopping.signal)).sha256;
  }

  async #storeFile({ model: name, sha256 }: StoredBinding): Promise<void> {
    const { db, blobs, logger } = this.#deps;
    const { signal } = this.#stopping;
    if (sha256 == null || (await selectModelFile(db.sql, sha256))?.storedAt != null) return;
    const file = await this.#find(name);
    if (file === null || (await this.#hash(file)) !== sha256) return;
    await db.withLock(lockName(sha256), async () => {
      if ((await selectModelFile(db.sql, sha256))?.storedAt != null) return;
      await insertModelFile(db.sql, { sha256, bytes: file.bytes });
      logger.info({ model: name, bytes: file.bytes }, 'storing model file in the blob store');
      await blobs.put(blobKey(sha256), createReadStream(file.path), signal);
      await db.sql.transaction((sql) => markModelFileStored(sql, sha256));
      logger.info({ model: name }, 'model file stored in the blob store');
    });
  }

  async #deleteBlob(sha256: string): Promise<void> {
    const { db, blobs, logger } = this.#deps;
    await db.withLock(lockName(sha256), async () => {
      if (!(await deleteUnboundFile(db.sql, sha256))) return;
      await blobs.delete(blobKey(sha256), this.#stopping.signal);
      logger.info({ sha256 }, 'unbound model file deleted from the blob store');
    });
  }

  #fetch(name: string, file: StoredModelFile): void {
    if (this.#fetches.has(file.sha256)) return;
    const { db, logger } = this.#deps;
    const fetching = this.#download(name, file)
      .then(() => {
        logger.info({ model: name, bytes: file.bytes }, 'model file fetched from the blob store');
        this.#hasFetched = true;
        this.#onFetched();
      })
      .catch(async (error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        logger.warn({ model: name, error: describeError(error) }, 'model file not fetched, trying again later');
        if (error instanceof BlobNotFoundError) await db.sql.transaction((sql) => markModelFileLost(sql, file.sha256));
      })
      .catch((error: unknown) => logger.warn({ model: name, error: describeError(error) }, 'lost blob not recorded'))
      .finally(() => this.#fetches.delete(file.sha256));
    this.#fetches.set(file.sha256, fetching);
  }

  /** Resumes an interrupted download. A complete file with the expected hash gets its name and its card. */
  async #download(name: string, { sha256, bytes }: StoredModelFile): Promise<void> {
    const { config, logger } = this.#deps;
    const folder = modelsFolder(config.dataDir);
    const path = partialPath(config.dataDir, name);
    await mkdir(folder, { recursive: true });
    // A pull of that name would write to the same file.
    const lock = await lockPull(`${path}.lock`, name);
    try {
      const partial = await PartialFile.open(path, `${FROM_BLOBS}: ${sha256}`, this.#stopping.signal);
      try {
        logger.info({ model: name, bytes, resumedBytes: partial.size }, 'fetching model file from the blob store');
        await this.#receive(partial, { sha256, bytes });
      } finally {
        await partial.close();
      }
      const { architecture, use, parameters, contextTokens } = await readGgufFacts(path);
      const facts = { architecture, use, parameters, context_tokens: contextTokens };
      const origin = { from: FROM_BLOBS, sha256_from: 'nobody' as const, pulled_at: Math.floor(Date.now() / 1000) };
      await writeCard(cardPath(config.dataDir, name), { ...origin, bytes, sha256, ...facts });
      await rename(path, modelPath(config.dataDir, name));
      await syncFolder(folder);
      await partial.deleteMetadata();
    } finally {
      await lock.release();
    }
  }

  /** Appends the bytes that a partial file lacks. Deletes its content and throws if it is not the expected file. */
  async #receive(partial: PartialFile, { sha256, bytes }: Pick<StoredModelFile, 'sha256' | 'bytes'>): Promise<void> {
    const { blobs, config } = this.#deps;
    const folder = modelsFolder(config.dataDir);
    if ((await freeBytes(folder)) < bytes - partial.size + MIN_FREE_BYTES) {
      throw new Error(`the disk of ${folder} is too full`);
    }
    await partial.describe({ from: `${FROM_BLOBS}: ${sha256}`, etag: null, sha256, bytes });
    if (partial.size < bytes) {
      const range = { start: partial.size, end: bytes - 1 };
      for await (const buffer of await blobs.read(blobKey(sha256), range, this.#stopping.signal)) {
        await partial.append(buffer);
      }
    }
    const received = partial.digest();
    if (received === sha256) return partial.sync();
    await partial.clear();
    throw new Error(`the blob has the SHA-256 ${received} instead of ${sha256}`);
  }
}

const blobKey = (sha256: string): string => sha256.slice(0, KEY_DIGITS);

const lockName = (sha256: string): string => `model file ${sha256}`;
