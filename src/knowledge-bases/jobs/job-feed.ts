import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../../db/db.ts';
import { followChanges } from '../../db/follow-changes.ts';
import { rateLimitExceeded } from '../../errors.ts';
import { ReadCache } from '../../lib/read-cache.ts';
import { selectKnowledgeBase } from '../store.ts';
import type { IngestionJob, JobEvent } from './schema.ts';
import { type JobRow, selectJobsOfIds, selectNewestJobs, selectUnfinishedJobsOfBase } from './store.ts';
import { viewJob } from './view-job.ts';

/** How often the jobs are read without a notification, in case one was lost. */
const POLL_MS = 5_000;
/** Minimum time between two reads for a stream: a busy job writes its progress many times a second. */
const MIN_READ_MS = 500;
/** Newest jobs of a knowledge base that are read each time: more than start within `MIN_READ_MS`. */
const NEWEST_JOBS = 100;
/** Finished jobs of a snapshot. */
const SNAPSHOT_JOBS = 20;
/** Streams of one caller in this process: a browser opens six connections to a host. */
export const MAX_STREAMS_PER_CALLER = 16;
/** Streams end after this time; clients connect again, which checks their session and rights again. */
const MAX_STREAM_MS = 5 * 60_000;
/** Knowledge bases whose jobs are cached while streams watch them. */
const MAX_CACHED_BASES = 1_000;

/** Who watches the jobs of which knowledge base. */
interface Watch {
  organizationId: string;
  /** Key or user. */
  callerId: string;
  baseId: string;
}

/**
 * Watches the ingestion jobs of knowledge bases for event streams. The streams of a process share the reads of a
 * knowledge base, at most one per change of its jobs; without streams it reads nothing. Jobs may run in any process.
 */
export class JobFeed {
  readonly #db: Database;
  readonly #intervals: { pollMs: number; minMs: number };
  /** One per stream. */
  readonly #watches = new Set<Watch>();
  /** The newest jobs by knowledge base; null for one that was deleted. */
  readonly #newest: ReadCache<JobRow[] | null>;
  readonly #closing = new AbortController();
  #unlisten: (() => void) | null = null;

  constructor(db: Database, intervals = { pollMs: POLL_MS, minMs: MIN_READ_MS }) {
    this.#db = db;
    this.#intervals = intervals;
    // Expires before the next poll, which must read.
    const ttlMs = intervals.pollMs / 2;
    this.#newest = new ReadCache({ ttlMs, maxEntries: MAX_CACHED_BASES, now: () => performance.now() });
  }

  /** Streams of this process. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * Subscribes. The events are a snapshot of the unfinished and newest jobs, then every change. They end when `signal`
   * aborts, the knowledge base is deleted, the feed is closed, or after five minutes. Throws 429 for too many streams
   * of one caller.
   */
  watch(watch: Watch, signal: AbortSignal): AsyncGenerator<JobEvent, void, undefined> {
    const own = [...this.#watches].filter(({ callerId }) => callerId === watch.callerId);
    if (own.length >= MAX_STREAMS_PER_CALLER) {
      throw rateLimitExceeded(`At most ${MAX_STREAMS_PER_CALLER} event streams may be open at once.`, 5);
    }
    // Listens before each stream does: a stream never reads what was cached before its notification.
    this.#unlisten ??= this.#db.listen('quire_ingestion_jobs', {
      onNotification: (changedId) => this.#newest.evict((baseId) => baseId === changedId),
      onGap: () => this.#newest.evict(() => true),
    });
    const entry = { ...watch };
    this.#watches.add(entry);
    const leave = () => void this.#watches.delete(entry);
    const ended = AbortSignal.any([signal, this.#closing.signal, AbortSignal.timeout(MAX_STREAM_MS)]);
    ended.addEventListener('abort', leave, { once: true });
    if (ended.aborted) leave();
    return this.#events(entry, ended, leave);
  }

  /** Ends every stream. */
  close(): void {
    this.#closing.abort();
    this.#unlisten?.();
  }

  async *#events(
    { baseId, organizationId }: Watch,
    signal: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<JobEvent, void, undefined> {
    /** The last state of each job that was sent. */
    const sent = new Map<string, IngestionJob>();
    const watched = {
      channel: 'quire_ingestion_jobs',
      isAbout: (payload: string) => payload === baseId,
      ...this.#intervals,
    } as const;
    try {
      yield { type: 'snapshot', jobs: await this.#snapshot(baseId, sent) };
      for await (const _ of followChanges(this.#db, watched, signal)) {
        const newest = await this.#newest.get(baseId, () => this.#readNewest(organizationId, baseId));
        if (newest === null) return;
        for (const job of [...newest, ...(await this.#readOlder(baseId, newest, sent))].map(viewJob)) {
          if (isDeepStrictEqual(sent.get(job.id), job)) continue;
          sent.set(job.id, job);
          yield { type: 'job', job };
        }
      }
    } finally {
      leave();
    }
  }

  async #snapshot(baseId: string, sent: Map<string, IngestionJob>): Promise<IngestionJob[]> {
    const newest = await selectNewestJobs(this.#db.sql, baseId, NEWEST_JOBS);
    const unfinished = await selectUnfinishedJobsOfBase(this.#db.sql, baseId);
    for (const row of [...newest, ...unfinished]) sent.set(row.id, viewJob(row));
    const shown = [...sent.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    return shown.filter((job, index) => index < SNAPSHOT_JOBS || !isFinished(job));
  }

  async #readNewest(organizationId: string, baseId: string): Promise<JobRow[] | null> {
    const base = await selectKnowledgeBase(this.#db, organizationId, baseId);
    return base === null ? null : selectNewestJobs(this.#db.sql, baseId, NEWEST_JOBS);
  }

  /** Unfinished jobs that so many newer ones follow that they are not among the newest. */
  async #readOlder(baseId: string, newest: readonly JobRow[], sent: Map<string, IngestionJob>): Promise<JobRow[]> {
    const ids = new Set(newest.map(({ id }) => id));
    const older = [...sent.values()].filter((job) => !ids.has(job.id) && !isFinished(job)).map(({ id }) => id);
    return older.length === 0 ? [] : selectJobsOfIds(this.#db.sql, baseId, older);
  }
}

function isFinished({ status }: IngestionJob): boolean {
  return status === 'completed' || status === 'failed';
}
