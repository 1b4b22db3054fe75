import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { readOptionalFile } from '../lib/read-optional-file.ts';
import type { BackupRepository } from './repository.ts';
import type { ArchivedWal } from './wal-names.ts';

/** Folder in the database folder, which is all that the server's user may be able to reach. */
const FOLDER = 'quire_wal';
const REQUESTED = 'requested';
/** Segments that are fetched ahead of the requested one: 16 MiB of disk each. */
const AHEAD = 4;
const POLL_MS = 10;

/**
 * PostgreSQL's `restore_command`: requests a file, waits until it is there or known to be absent, and copies it. Gives
 * up after ten minutes, so that no shell outlives a killed restore for long.
 */
export const RESTORE_COMMAND = [
  `f=${FOLDER}/%f`,
  `echo %f > ${FOLDER}/${REQUESTED}.new && mv ${FOLDER}/${REQUESTED}.new ${FOLDER}/${REQUESTED}`,
  'n=0',
  'until test -e $f || test -e $f.absent; do n=$((n+1)); test $n -gt 30000 && exit 1; sleep 0.02; done',
  'cp $f %p 2>/dev/null',
].join('; ');

/** Fetches archived WAL for a recovering server, a few segments ahead of it. */
export class WalFeed {
  readonly #folder: string;
  readonly #repository: BackupRepository;
  readonly #wal: readonly ArchivedWal[];
  /** Fetches by PostgreSQL's file name, running or complete. */
  readonly #fetches = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly #requested = new Set<string>();
  /** Errors of fetches by PostgreSQL's file name. */
  readonly #failures = new Map<string, unknown>();

  private constructor(cluster: string, repository: BackupRepository, wal: readonly ArchivedWal[]) {
    this.#folder = join(cluster, FOLDER);
    this.#repository = repository;
    this.#wal = wal;
  }

  /** `wal` is sorted by name. */
  static async start(cluster: string, repository: BackupRepository, wal: readonly ArchivedWal[]): Promise<WalFeed> {
    const feed = new WalFeed(cluster, repository, wal);
    await mkdir(feed.#folder, { recursive: true });
    feed.#running = feed.#serve();
    return feed;
  }

  /**
   * Throws the error of the fetch of a requested file: the server took the file for absent, and ended its recovery too
   * early. Files that were only fetched ahead are not needed.
   */
  throwIfFailed(): void {
    for (const [file, error] of this.#failures) if (this.#requested.has(file)) throw error;
  }

  /** Removes the fetched files. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.allSettled(this.#fetches.values());
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #serve(): Promise<void> {
    let served = '';
    while (!this.#stopping.signal.aborted) {
      const requested = (await readOptionalFile(join(this.#folder, REQUESTED)))?.trim() ?? '';
      if (requested !== '' && requested !== served) {
        await this.#provide(requested);
        served = requested;
      }
      await delay(POLL_MS);
    }
  }

  async #provide(requested: string): Promise<void> {
    this.#requested.add(requested);
    const at = this.#wal.findIndex(({ file }) => file === requested);
    if (at === -1) return writeFile(join(this.#folder, `${requested}.absent`), '');
    const upcoming = this.#wal.slice(at, at + 1 + AHEAD);
    for (const file of upcoming) {
      if (!this.#fetches.has(file.file)) this.#fetches.set(file.file, this.#fetch(file));
    }
    for (const [file, fetched] of this.#fetches) {
      if (upcoming.some((other) => other.file === file)) continue;
      this.#fetches.delete(file);
      await fetched;
      await rm(join(this.#folder, file), { force: true });
    }
  }

  async #fetch({ name, file }: ArchivedWal): Promise<void> {
    const path = join(this.#folder, file);
    try {
      const source = await this.#repository.read(name, this.#stopping.signal);
      const target = await open(`${path}.new`, 'w', 0o644);
      await pipeline(source, target.createWriteStream());
      await rename(`${path}.new`, path);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#failures.set(file, error);
      await writeFile(`${path}.absent`, '');
    }
  }
}
