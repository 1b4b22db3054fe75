import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Meter } from '../blobs/meter.ts';
import { SECRETS_KEY_FILE } from '../data-folder/entries.ts';
import type { Database } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import { readOptionalFile } from '../lib/read-optional-file.ts';
import { VERSION } from '../lib/version.ts';
import { archiveAllBlobs } from './archive-blobs.ts';
import { listClusterFiles } from './cluster-files.ts';
import type { BackupManifest } from './manifest.ts';
import { groupIntoPacks } from './packs.ts';
import { type BackupRepository, baseObjectName, secretsObjectName } from './repository.ts';
import { startBaseBackup, stopBaseBackup, sumContents } from './store.ts';
import type { WalArchiver } from './wal-archiver.ts';

/** Packs that are copied at a time: the copy waits for disk and network, and shares the cores with the service. */
const CONCURRENCY = 3;
/** Pause between looks at the archive while the last segment of a backup is not archived. */
const ARCHIVE_POLL_MS = 200;

/** Bytes of a backup or restore so far. */
export interface BackupProgress {
  doneBytes: number;
  totalBytes: number;
}

/** Dependencies of a base backup. */
export interface CreateDeps extends Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> {
  repository: BackupRepository;
  archiver: WalArchiver;
  /** The data folder, with the database folder in it. */
  dataDir: string;
  cluster: string;
  onProgress(progress: BackupProgress): void;
}

/**
 * Makes a base backup of the running database, with all uploaded files and the key of stored credentials. Removes the
 * remains of an interrupted one first.
 */
export async function createBackup(deps: CreateDeps, signal: AbortSignal): Promise<BackupManifest> {
  const { repository, now } = deps;
  await deleteUnfinished(repository, signal);
  const startedAt = now();
  const id = newBackupId(startedAt);
  deps.logger.info({ id, target: repository.target.location }, 'backup started');
  const { droppedSegments } = deps.archiver;
  const copy = new BaseCopy(deps, id);
  const copied = await deps.db.withSession((session) => copy.run(session, signal));
  const hasSecretsKey = await putSecretsKey(deps, id, signal);
  const manifest: BackupManifest = { format: 1, id, version: VERSION, startedAt, ...copied, hasSecretsKey };
  await untilArchived(deps, { lastSegment: manifest.lastSegment, droppedSegments }, signal);
  await repository.put(baseObjectName(id, 'manifest'), textStream(JSON.stringify(manifest)), signal);
  const tookMs = now() - startedAt;
  deps.logger.info({ id, bytes: totalBytes(manifest), files: manifest.blobs.count, tookMs }, 'backup complete');
  return manifest;
}

/** Size of the content of a backup: database and uploaded files. */
export const totalBytes = ({ packs, blobs }: BackupManifest): number =>
  packs.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes, blobs.bytes);

/** Sorts by time: `20261123-100000-4f2a9c`. */
function newBackupId(nowMs: number): string {
  const [date = '', time = ''] = new Date(nowMs)
    .toISOString()
    .replaceAll(/[-:]|\.\d+Z/g, '')
    .split('T');
  return `${date}-${time}-${randomBytes(3).toString('hex')}`;
}

/** Copy of the cluster and of the uploaded files, between start and stop of a base backup. */
class BaseCopy {
  readonly #deps: CreateDeps;
  readonly #id: string;
  readonly #packs: BackupManifest['packs'] = [];
  readonly #progress: BackupProgress = { doneBytes: 0, totalBytes: 0 };

  constructor(deps: CreateDeps, id: string) {
    this.#deps = deps;
    this.#id = id;
  }

  /** The backup is aborted when the session ends before it is stopped. */
  async run(session: Pick<Database, 'execute'>, signal: AbortSignal) {
    const { firstSegment, timeline } = await startBaseBackup(session, this.#id);
    const { folders, files } = await listClusterFiles(this.#deps.cluster);
    const contents = await sumContents(this.#deps.db.sql);
    this.#progress.totalBytes = files.reduce((sum, { bytes }) => sum + bytes, contents.bytes);
    const packs = groupIntoPacks(files.slice(0, -1)).entries();
    await forEachConcurrent(packs, CONCURRENCY, ([at, pack], each) => this.#putFiles(`pack-${at}`, pack, each), signal);
    signal.throwIfAborted();
    await this.#putFiles('pack-control', files.slice(-1), signal);
    // Before the stop: what is listed here was there at the earliest time that can be restored, or is archived later.
    const blobs = await this.#copyBlobs(signal);
    const stopped = await stopBaseBackup(session);
    await this.#putTexts('pack-label', { backup_label: stopped.label, tablespace_map: stopped.tablespaces }, signal);
    const { lastSegment, nowMs: consistentAt } = stopped;
    return { consistentAt, timeline, firstSegment, lastSegment, folders, packs: this.#packs, blobs };
  }

  async #putFiles(name: string, files: readonly { path: string }[], signal: AbortSignal): Promise<void> {
    const { cluster } = this.#deps;
    const sources = files.map(({ path }) => ({ path, read: () => createReadStream(join(cluster, path)) }));
    await this.#put(name, sources, signal);
  }

  async #putTexts(name: string, texts: Record<string, string>, signal: AbortSignal): Promise<void> {
    const present = Object.entries(texts).filter(([, text]) => text !== '');
    const sources = present.map(([path, text]) => ({ path, read: () => textStream(text) }));
    await this.#put(name, sources, signal);
  }

  async #put(
    path: string,
    sources: Iterable<{ path: string; read: () => AsyncIterable<Uint8Array> }>,
    signal: AbortSignal,
  ): Promise<void> {
    const name = baseObjectName(this.#id, path);
    const files: BackupManifest['packs'][number]['files'] = [];
    const count = (source: AsyncIterable<Uint8Array>) => this.#count(source);
    async function* content(): AsyncGenerator<Uint8Array> {
      for (const file of sources) {
        const meter = new Meter();
        try {
          yield* meter.pass(count(file.read()), signal);
          files.push({ path: file.path, ...meter.result() });
        } catch (error) {
          // A table that was dropped since it was listed: recovery drops it too.
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        }
      }
    }
    await this.#deps.repository.put(name, content(), signal);
    this.#packs.push({ name, files });
  }

  async *#count(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const bytes of source) {
      this.#advance(bytes.byteLength);
      yield bytes;
    }
  }

  #advance(bytes: number): void {
    const progress = this.#progress;
    progress.doneBytes += bytes;
    // Tables have grown since they were listed.
    progress.totalBytes = Math.max(progress.totalBytes, progress.doneBytes);
    this.#deps.onProgress({ ...progress });
  }

  async #copyBlobs(signal: AbortSignal): Promise<BackupManifest['blobs']> {
    const { repository } = this.#deps;
    const blobs = { count: 0, bytes: 0 };
    const advance = (bytes: number) => this.#advance(bytes);
    const contents = archiveAllBlobs(this.#deps, repository, signal);
    async function* lines(): AsyncGenerator<Uint8Array> {
      for await (const { sha256, bytes } of contents) {
        blobs.count += 1;
        blobs.bytes += bytes;
        advance(bytes);
        yield Buffer.from(`${sha256} ${bytes}\n`);
      }
    }
    await repository.put(baseObjectName(this.#id, 'blobs'), lines(), signal);
    return blobs;
  }
}

async function deleteUnfinished(repository: BackupRepository, signal: AbortSignal): Promise<void> {
  for (const id of await repository.listUnfinished(signal)) {
    await repository.deleteAll(`base/${id}/`, signal);
    await repository.target.delete(secretsObjectName(id), signal);
  }
}

/** Returns whether there is a key file. */
async function putSecretsKey(
  { repository, dataDir }: Pick<CreateDeps, 'repository' | 'dataDir'>,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  const key = await readOptionalFile(join(dataDir, SECRETS_KEY_FILE));
  if (key === null) return false;
  await repository.put(secretsObjectName(id), textStream(key), signal);
  return true;
}

/** Without the WAL of its own time, the copy is not consistent. `droppedSegments`: those dropped before its start. */
async function untilArchived(
  { archiver, repository }: Pick<CreateDeps, 'archiver' | 'repository'>,
  { lastSegment, droppedSegments }: { lastSegment: string; droppedSegments: number },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await archiver.archive(signal);
    // Before the check of the last segment: earlier segments may have been dropped while the files were copied.
    if (archiver.droppedSegments > droppedSegments) throw new Error('WAL that the backup needs was given up');
    for await (const _ of repository.list(`wal/${lastSegment}-`, signal)) return;
    await delay(ARCHIVE_POLL_MS, undefined, { signal });
  }
}

const textStream = (text: string): AsyncIterable<Uint8Array> => Readable.from([Buffer.from(text)]);
