import type { Database } from '../../db/db.ts';
import { rateLimitExceeded } from '../../errors.ts';
import { AsyncEvent } from '../../queue/async-event.ts';
import { selectKnowledgeBase } from '../store.ts';
import type { IngestionJob, JobEvent } from './schema.ts';
import { selectJobsOfIds, selectNewestJobs, selectUnfinishedJobsOfBase } from './store.ts';
import { viewJob } from './view-job.ts';

/** Time between two reads of the jobs that are watched, in this process. */
const POLL_MS = 500;
/** Newest jobs of a knowledge base that are read each time: more than start within `POLL_MS`. */
const NEWEST_JOBS = 100;
/** Finished jobs of a snapshot. */
const SNAPSHOT_JOBS = 20;
/** Streams of one caller in this process: a browser opens six connections to a host. */
export const MAX_STREAMS_PER_CALLER = 16;
/** Streams end after this time; clients connect again, which checks their session and rights again. */
const MAX_STREAM_MS = 5 * 60_000;

/** Who watches the jobs of which knowledge base. */
interface Watch {
  organizationId: string;
  /** Key or user. */
  callerId: string;
  baseId: string;
}

interface Watcher extends Watch {
  /** Changed jobs that were not sent yet: the latest state of each. */
  pending: Map<string, IngestionJob>;
  /** JSON of the last state of each job that was sent or is pending. */
  known: Map<string, string>;
  changed: AsyncEvent;
  /** Set when the stream must end: null without an error. */
  end: { error: unknown } | null;
}

/**
 * Watches the ingestion jobs of knowledge bases for event streams. One process reads the jobs of each watched knowledge base once
 * per `POLL_MS`, however many streams show them; without streams it reads nothing. Jobs may run in any process.
 */
export class JobFeed {
  readonly #db: Database;
  readonly #pollMs: number;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(db: Database, pollMs = POLL_MS) {
    this.#db = db;
    this.#pollMs = pollMs;
  }

  /** Streams of this process. */
  get size(): number {
    return this.#watchers.size;
  }

  /**
   * Subscribes. The events are a snapshot of the unfinished and newest jobs, then every change. They end when `signal` aborts, the
   * knowledge base is deleted, the feed is closed, or after five minutes. Throws 429 for too many streams of one caller.
   */
  watch(watch: Watch, signal: AbortSignal): AsyncGenerator<JobEvent, void, undefined> {
    const own = [...this.#watchers].filter(({ callerId }) => callerId === watch.callerId);
    if (own.length >= MAX_STREAMS_PER_CALLER) {
      throw rateLimitExceeded(`At most ${MAX_STREAMS_PER_CALLER} event streams may be open at once.`, 5);
    }
    const watcher: Watcher = { ...watch, pending: new Map(), known: new Map(), changed: new AsyncEvent(), end: null };
    if (this.#isClosed) watcher.end = { error: null };
    const leave = () => {
      signal.removeEventListener('abort', leave);
      this.#watchers.delete(watcher);
      watcher.end ??= { error: null };
      watcher.changed.wake();
    };
    this.#watchers.add(watcher);
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    return this.#events(watcher, leave);
  }

  /** Ends every stream. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) endWatcher(watcher, null);
  }

  async *#events(watcher: Watcher, leave: () => void): AsyncGenerator<JobEvent, void, undefined> {
    const endsAt = performance.now() + MAX_STREAM_MS;
    try {
      yield { type: 'snapshot', jobs: await this.#snapshot(watcher) };
      this.#schedule();
      while (watcher.end === null && performance.now() < endsAt) {
        await watcher.changed.wait(endsAt - performance.now());
        const changes = [...watcher.pending.values()];
        watcher.pending.clear();
        for (const job of changes) yield { type: 'job', job };
      }
      if (watcher.end !== null && watcher.end.error !== null) throw watcher.end.error;
    } finally {
      leave();
    }
  }

  async #snapshot({ baseId, known }: Watcher): Promise<IngestionJob[]> {
    const newest = await selectNewestJobs(this.#db.sql, baseId, NEWEST_JOBS);
    const unfinished = await selectUnfinishedJobsOfBase(this.#db.sql, baseId);
    const jobs = new Map([...newest, ...unfinished].map((row) => [row.id, viewJob(row)]));
    for (const [id, job] of jobs) known.set(id, JSON.stringify(job));
    const shown = [...jobs.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    return shown.filter((job, index) => index < SNAPSHOT_JOBS || !isFinished(job));
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isClosed || this.#watchers.size === 0) return;
    this.#timer = setTimeout(async () => {
      await Promise.all([...this.#byBase()].map((watchers) => this.#poll(watchers)));
      this.#timer = undefined;
      this.#schedule();
    }, this.#pollMs).unref();
  }

  #byBase(): Iterable<Watcher[]> {
    return Map.groupBy(this.#watchers, ({ baseId }) => baseId).values();
  }

  /** Reads the jobs of one knowledge base for all of its watchers. A failed read ends their streams: clients connect again. */
  async #poll(watchers: readonly Watcher[]): Promise<void> {
    const [first] = watchers;
    if (first === undefined) return;
    const { baseId, organizationId } = first;
    try {
      const base = await selectKnowledgeBase(this.#db, organizationId, baseId);
      if (base === null) {
        for (const watcher of watchers) endWatcher(watcher, null);
        return;
      }
      const newest = await selectNewestJobs(this.#db.sql, baseId, NEWEST_JOBS);
      const ids = new Set(newest.map(({ id }) => id));
      const older = new Set(watchers.flatMap(unfinishedIds).filter((id) => !ids.has(id)));
      const rows =
        older.size === 0 ? newest : [...newest, ...(await selectJobsOfIds(this.#db.sql, baseId, [...older]))];
      const jobs = rows.map(viewJob);
      for (const watcher of watchers) deliver(watcher, jobs);
    } catch (error) {
      for (const watcher of watchers) endWatcher(watcher, error);
    }
  }
}

function deliver({ known, pending, changed }: Watcher, jobs: readonly IngestionJob[]): void {
  for (const job of jobs) {
    const json = JSON.stringify(job);
    if (known.get(job.id) === json) continue;
    known.set(job.id, json);
    pending.set(job.id, job);
  }
  if (pending.size > 0) changed.wake();
}

function unfinishedIds({ known }: Watcher): string[] {
  return [...known].filter(([, json]) => !isFinished(JSON.parse(json))).map(([id]) => id);
}

function isFinished({ status }: IngestionJob): boolean {
  return status === 'completed' || status === 'failed';
}

function endWatcher(watcher: Watcher, error: unknown): void {
  watcher.end ??= { error };
  watcher.changed.wake();
}
