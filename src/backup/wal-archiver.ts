import { createReadStream } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Meter } from '../blobs/meter.ts';
import type { Deps } from '../deps.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { freeBytes, MIN_FREE_BYTES } from '../lib/writable-folder.ts';
import { archiveNewBlobs } from './archive-blobs.ts';
import type { BackupRepository } from './repository.ts';
import {
  isSegment,
  parseWalObjectName,
  SEGMENT_BYTES,
  segmentNumber,
  walObjectName,
  walTimeline,
} from './wal-names.ts';

/** PostgreSQL marks completed files of WAL with `NAME.ready`, and removes them after a `NAME.done`. */
const READY = /^(.+)\.ready$/;
/**
 * Time for which a completed segment waits: a transaction becomes visible to queries shortly after its commit record,
 * and the files that it names are archived before the segment.
 */
const SETTLE_MS = 500;
/** Files created this long before the last run are looked at again: their rows commit some time after `created_at`. */
const OVERLAP_MS = 10 * 60_000;
/** Hashes of recently archived files. More are archived again, which does no harm. */
const MAX_RECENT = 10_000;
/** Free space of the disk of the database below which waiting WAL is given up, whatever its size. */
const LOW_DISK_BYTES = 4 * MIN_FREE_BYTES;

/** Dependencies of the archiver. */
export interface WalArchiverDeps extends Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> {
  /** The database folder. */
  cluster: string;
  /** WAL that may wait for the target. */
  maxPendingBytes: number;
  openRepository(signal: AbortSignal): Promise<BackupRepository>;
}

/** A completed file of WAL that is not archived. */
interface ReadyWal {
  file: string;
  completeMs: number;
}

/**
 * Archives completed WAL of the embedded database and the files that its transactions name. It takes the place of
 * PostgreSQL's `archive_command`: it reads and renames the marks in `pg_wal/archive_status`.
 */
export class WalArchiver {
  readonly #deps: WalArchiverDeps;
  #running: Promise<void> = Promise.resolve();
  /** Ends the current run when its WAL is given up: PostgreSQL then overwrites the files that it reads. */
  #givingUp = new AbortController();
  /** The last archived segment. Undefined until the archive was listed. */
  #last: { file: string; completeMs: number } | null | undefined = undefined;
  #blobsSinceMs: number | null = null;
  readonly #recentBlobs = new Set<string>();
  #pending: readonly ReadyWal[] = [];
  /** Segments that were given up since the start of the process. */
  droppedSegments = 0;
  archivedBytes = 0;
  /** Whether segments are missing in front of the last one: only a new base backup makes later restores possible. */
  hasGap = false;

  constructor(deps: WalArchiverDeps) {
    this.#deps = deps;
  }

  /** Size and age of the WAL that waits. `oldestMs`: Unix milliseconds; null when none waits. */
  get pending(): { bytes: number; oldestMs: number | null } {
    const oldestMs = this.#pending.reduce<number | null>(
      (least, { completeMs }) => Math.min(least ?? completeMs, completeMs),
      null,
    );
    return { bytes: this.#pending.filter(({ file }) => isSegment(file)).length * SEGMENT_BYTES, oldestMs };
  }

  /** When the last archived segment was complete, Unix milliseconds; null before the first run and in a new archive. */
  get archivedUntilMs(): number | null {
    return this.#last?.completeMs ?? null;
  }

  /** Archives the WAL that is complete now. Runs do not overlap. `settleMs`: 0 when no transaction runs. */
  archive(signal: AbortSignal, settleMs = SETTLE_MS): Promise<void> {
    this.#running = this.#running.catch(() => {}).then(() => this.#archiveReady(signal, settleMs));
    return this.#running;
  }

  /** Deletes a content that a later run archives again if a new file has it. Runs and deletions do not overlap. */
  deleteContent(sha256: string, deleteUnused: () => Promise<boolean>): Promise<boolean> {
    const deleting = this.#running
      .catch(() => {})
      .then(() => {
        this.#recentBlobs.delete(sha256);
        return deleteUnused();
      });
    this.#running = deleting.then(
      () => {},
      () => {},
    );
    return deleting;
  }

  /**
   * Gives up the WAL that waits when it is too much for the disk. Does not wait for a run, because the target may never
   * respond to it.
   */
  async limitPending(): Promise<void> {
    this.#pending = await this.#listReady();
    if (await this.#isTooMuch()) await this.#drop();
  }

  async #archiveReady(stopping: AbortSignal, settleMs: number): Promise<void> {
    await this.limitPending();
    this.#givingUp = new AbortController();
    const signal = AbortSignal.any([stopping, this.#givingUp.signal]);
    const settledMs = this.#deps.now() - settleMs;
    if (!this.#pending.some(({ completeMs }) => completeMs <= settledMs)) return;
    const repository = await this.#deps.openRepository(signal);
    this.#last ??= (await repository.listWal(signal)).findLast(({ file }) => isSegment(file)) ?? null;
    await this.#archiveBlobs(repository, signal);
    for (const ready of this.#pending) {
      if (ready.completeMs > settledMs) break;
      await this.#ship(repository, ready, signal);
      this.#pending = this.#pending.filter(({ file }) => file !== ready.file);
    }
  }

  async #listReady(): Promise<ReadyWal[]> {
    const ready: ReadyWal[] = [];
    for (const name of await readdir(this.#path('archive_status'))) {
      const file = READY.exec(name)?.[1];
      if (file === undefined) continue;
      // Marks of base backups and of the unfinished segment of an earlier timeline: no restore reads them.
      if (!isSegment(file) && !file.endsWith('.history')) await this.#markDone(file);
      else {
        // Missing: a concurrent run has archived the file.
        const mark = await stat(this.#path('archive_status', name)).catch(nullIfMissing);
        if (mark !== null) ready.push({ file, completeMs: Math.ceil(mark.mtimeMs) });
      }
    }
    return ready.sort((a, b) => rank(a.file) - rank(b.file) || (a.file < b.file ? -1 : 1));
  }

  async #archiveBlobs(repository: BackupRepository, signal: AbortSignal): Promise<void> {
    const startedMs = this.#deps.now();
    const sinceMs = (this.#blobsSinceMs ?? this.#last?.completeMs ?? OVERLAP_MS) - OVERLAP_MS;
    if (this.#recentBlobs.size > MAX_RECENT) this.#recentBlobs.clear();
    // Later files belong to later segments. Without this bound, fast uploads would keep the loop running forever.
    const files = { since: new Date(sinceMs), until: new Date(startedMs), recent: this.#recentBlobs };
    await archiveNewBlobs(this.#deps, repository, files, signal);
    this.#blobsSinceMs = startedMs;
  }

  async #ship(repository: BackupRepository, { file, completeMs }: ReadyWal, signal: AbortSignal): Promise<void> {
    const stored = await this.#findArchived(repository, file, signal);
    if (stored === null) {
      const { bytes } = await repository.put(walObjectName(file, completeMs), this.#open(file), signal);
      this.archivedBytes += bytes;
    } else await this.#requireSame(repository, { file, stored }, signal);
    await this.#markDone(file);
    if (!isSegment(file)) return;
    const last = this.#last ?? null;
    const follows =
      last === null ||
      (walTimeline(last.file) === walTimeline(file) && segmentNumber(file) <= segmentNumber(last.file) + 1);
    if (!follows) this.hasGap = true;
    this.#last = { file, completeMs };
    this.#deps.logger.debug({ file }, 'WAL archived');
  }

  async #findArchived(repository: BackupRepository, file: string, signal: AbortSignal): Promise<string | null> {
    for await (const { name } of repository.list(`wal/${file}-`, signal)) {
      if (parseWalObjectName(name) !== null) return name;
    }
    return null;
  }

  /** A process that was killed between both steps has archived the file, and not marked it. */
  async #requireSame(
    repository: BackupRepository,
    { file, stored }: { file: string; stored: string },
    signal: AbortSignal,
  ): Promise<void> {
    const [archived, ours] = [
      await hash(await repository.read(stored, signal), signal),
      await hash(this.#open(file), signal),
    ];
    if (archived === ours) return;
    throw new OperatorError(
      `The backup target ${repository.target.location} holds another ${file}: a copy of this database archives its WAL there too. Set QUIRE_BACKUP_URL of one of them to another folder or prefix.`,
    );
  }

  async #isTooMuch(): Promise<boolean> {
    const { bytes } = this.pending;
    if (bytes > this.#deps.maxPendingBytes) return true;
    return bytes > LOW_DISK_BYTES && (await freeBytes(this.#deps.cluster)) < LOW_DISK_BYTES;
  }

  /** PostgreSQL then removes the segments at its next checkpoint. */
  async #drop(): Promise<void> {
    const { bytes } = this.pending;
    this.#givingUp.abort(new Error('the WAL was given up, because the backup target did not take it in time'));
    this.hasGap = true;
    const isDropped = ({ file }: ReadyWal) => isSegment(file);
    for (const { file } of this.#pending.filter(isDropped)) if (await this.#markDone(file)) this.droppedSegments += 1;
    // Histories of timelines are small, and later restores need them.
    this.#pending = this.#pending.filter((ready) => !isDropped(ready));
    this.#deps.logger.error(
      { bytes, droppedSegments: this.droppedSegments },
      'WAL given up, because the backup target did not take it: no restore to a time between here and the next base backup is possible',
    );
  }

  /** Returns false when the file is marked already. */
  async #markDone(file: string): Promise<boolean> {
    const path = this.#path('archive_status', file);
    return (await rename(`${path}.ready`, `${path}.done`).catch(nullIfMissing)) !== null;
  }

  #open(file: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.#path(file));
  }

  #path(...names: string[]): string {
    return join(this.#deps.cluster, 'pg_wal', ...names);
  }
}

/** Histories of timelines first: a restore needs them to find the segments. */
const rank = (file: string): number => (isSegment(file) ? 1 : 0);

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

async function hash(source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<string> {
  const meter = new Meter();
  for await (const _ of meter.pass(source, signal));
  return meter.result().sha256;
}
