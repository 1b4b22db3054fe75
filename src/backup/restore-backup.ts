import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BlobStore } from '../blobs/blob-store.ts';
import { SECRETS_KEY_FILE } from '../data-folder/entries.ts';
import type { Database } from '../db/db.ts';
import { createFolder } from '../lib/create-folder.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import type { Logger } from '../lib/logger.ts';
import { DamagedObjectError } from './codec.ts';
import { type BackupProgress, totalBytes } from './create-backup.ts';
import type { BackupManifest } from './manifest.ts';
import { readPack } from './packs.ts';
import { type BackupInventory, newestHistory, type RestorePlan } from './plan-restore.ts';
import { recoverCluster } from './recover-cluster.ts';
import { type BackupRepository, blobObjectName, secretsObjectName } from './repository.ts';
import { type ArchivedContent, selectContents } from './store.ts';

/** Packs and uploaded files that are written at a time. */
const CONCURRENCY = 4;
const PAGE = 500;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Dependencies of a restore. The caller holds the empty data folder. */
export interface RestoreDeps {
  repository: BackupRepository;
  dataDir: string;
  logger: Logger;
  /** Opens the blob store of the restored instance. */
  openBlobs(): Promise<BlobStore>;
  onProgress(progress: BackupProgress): void;
  /** Called when all files of the base backup are written. */
  onRecovery(): void;
}

/** A completed restore. */
export interface Restored {
  id: string;
  /** The time that the restored state is of, Unix milliseconds. */
  atMs: number;
  /** Uploaded files that were restored. */
  files: number;
  /** Ids of files whose content the archive lacks. */
  missing: string[];
}

/** Reads what the target holds. */
export async function readInventory(repository: BackupRepository, signal: AbortSignal): Promise<BackupInventory> {
  const [backups, wal] = await Promise.all([repository.listBackups(signal), repository.listWal(signal)]);
  const newest = newestHistory(wal);
  return { backups, wal, history: newest === null ? null : await repository.readText(newest.name, signal) };
}

/**
 * Restores database, uploaded files and the key of stored credentials into a data folder. The database appears last and
 * at once: a service does not start on an interrupted restore. The search index is rebuilt by the service. `atMs`: time
 * of the state, Unix milliseconds; null for the end of the archived WAL.
 */
export async function restoreBackup(
  deps: RestoreDeps,
  plan: RestorePlan,
  atMs: number | null,
  signal: AbortSignal,
): Promise<Restored> {
  const { repository, dataDir, logger, onRecovery } = deps;
  const { backup } = plan;
  await restoreSecretsKey(deps, backup, signal);
  let contents: Pick<Restored, 'files' | 'missing'> = { files: 0, missing: [] };
  await createFolder(join(dataDir, 'postgres'), async (cluster) => {
    const copy = new BaseRestore(deps, backup);
    await copy.writeCluster(cluster, signal);
    onRecovery();
    const db = await recoverCluster({ cluster, repository, plan, atMs, logger });
    try {
      contents = await copy.writeBlobs(db, signal);
    } finally {
      await db.close();
    }
  });
  return { id: backup.id, atMs: atMs ?? plan.untilMs, ...contents };
}

async function restoreSecretsKey(
  { repository, dataDir }: RestoreDeps,
  { id, hasSecretsKey }: BackupManifest,
  signal: AbortSignal,
): Promise<void> {
  if (!hasSecretsKey) return;
  const key = await repository.readText(secretsObjectName(id), signal);
  await writeFile(join(dataDir, SECRETS_KEY_FILE), key, { mode: FILE_MODE, flush: true });
}

class BaseRestore {
  readonly #deps: RestoreDeps;
  readonly #backup: BackupManifest;
  readonly #progress: BackupProgress;

  constructor(deps: RestoreDeps, backup: BackupManifest) {
    this.#deps = deps;
    this.#backup = backup;
    this.#progress = { doneBytes: 0, totalBytes: totalBytes(backup) };
  }

  async writeCluster(cluster: string, signal: AbortSignal): Promise<void> {
    const { folders, packs } = this.#backup;
    const files = packs.flatMap((pack) => pack.files);
    await mkdir(cluster, { mode: FOLDER_MODE });
    for (const path of [...folders, ...files.map(({ path }) => dirname(path))]) {
      await mkdir(join(cluster, path), { recursive: true, mode: FOLDER_MODE });
    }
    await forEachConcurrent(packs, CONCURRENCY, (pack, each) => this.#writePack(cluster, pack, each), signal);
    signal.throwIfAborted();
  }

  /** Writes the contents of all files of the recovered database. */
  async writeBlobs({ sql }: Database, signal: AbortSignal): Promise<Pick<Restored, 'files' | 'missing'>> {
    const blobs = await this.#deps.openBlobs();
    const missing: string[] = [];
    let files = 0;
    try {
      for (let after = ''; ; ) {
        const contents = await selectContents(sql, { after, limit: PAGE });
        const write = async (content: ArchivedContent, each: AbortSignal) => {
          if (await this.#writeBlob(blobs, content, each)) files += 1;
          else missing.push(content.id);
        };
        await forEachConcurrent(contents, CONCURRENCY, write, signal);
        signal.throwIfAborted();
        const last = contents.at(-1);
        if (last === undefined || contents.length < PAGE) return { files, missing };
        after = last.id;
      }
    } finally {
      await blobs.close();
    }
  }

  async #writePack(cluster: string, pack: BackupManifest['packs'][number], signal: AbortSignal): Promise<void> {
    const source = await this.#deps.repository.read(pack.name, signal);
    const write = (file: { path: string }, content: AsyncIterable<Uint8Array>) =>
      pipeline(this.#count(content), createWriteStream(join(cluster, file.path), { flags: 'wx', mode: FILE_MODE }));
    await readPack({ ...pack, source }, write, signal);
  }

  /** Resolves with false when the archive lacks the content or holds a damaged one. */
  async #writeBlob(
    blobs: BlobStore,
    { blobKey, sha256, bytes }: ArchivedContent,
    signal: AbortSignal,
  ): Promise<boolean> {
    // A blob store outside of the data folder, which was not lost.
    if ((await blobs.size(blobKey, signal)) === bytes) return true;
    try {
      const source = await this.#deps.repository.read(blobObjectName(sha256), signal);
      const stored = await blobs.put(blobKey, this.#count(source), signal);
      if (stored.sha256 === sha256) return true;
      await blobs.delete(blobKey, signal);
      return false;
    } catch (error) {
      if (error instanceof DamagedObjectError) return false;
      throw error;
    }
  }

  async *#count(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const progress = this.#progress;
    for await (const bytes of source) {
      progress.doneBytes += bytes.byteLength;
      progress.totalBytes = Math.max(progress.totalBytes, progress.doneBytes);
      this.#deps.onProgress({ ...progress });
      yield bytes;
    }
  }
}
