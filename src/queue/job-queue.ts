import { sql as tag } from 'drizzle-orm';
import { type DrizzleTransactionLike, fromDrizzle, type Job, PgBoss } from 'pg-boss';
import type { Database, Sql } from '../db/db.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { AsyncEvent } from './async-event.ts';
import type { JobKind, JobPlace } from './define-job.ts';
import { RunningJobs } from './running-jobs.ts';

/** A job of a process that has not been heard of for so long is another's to run. */
const HEARTBEAT_SECONDS = 30;
/** How often jobs whose process is gone are looked for. */
const SUPERVISE_SECONDS = 10;
/** How often a process looks for jobs that others have queued; its own it runs at once. */
const POLL_MS = 2_000;
/** A job that runs longer is stuck, whatever its process says. */
const MAX_JOB_SECONDS = 24 * 60 * 60;
/** A pause before a retry doubles until it is so long. */
const MAX_RETRY_SECONDS = 300;
/** Ended jobs are only of interest while something is looked into. */
const KEEP_ENDED_SECONDS = 60 * 60;

/** One run of a job. The signal aborts when the process stops: what is left then is run again. */
export type JobHandler<Data extends object> = (data: Data, signal: AbortSignal) => Promise<void>;

/**
 * The queue of background work, in the database (pg-boss). A job is there once the transaction that queued it has committed, and
 * runs until a handler has ended without an error: it may run twice, so a handler replaces and never appends.
 */
export class JobQueue {
  readonly #boss: PgBoss;
  readonly #logger: Logger;
  readonly #wakeCalls = new Map<string, AsyncEvent>();
  readonly #loops: Promise<void>[] = [];
  readonly #stopping = new AbortController();

  private constructor(boss: PgBoss, logger: Logger) {
    this.#boss = boss;
    this.#logger = logger;
  }

  /** Opens the queue for the kinds, and makes what it needs in the database. */
  static async open(db: Database, logger: Logger, kinds: readonly JobKind<object>[]): Promise<JobQueue> {
    const boss = new PgBoss({
      db: { executeSql: (text, values) => db.execute(text, values) },
      ...(db.kind === 'embedded' && { backend: 'pglite' as const }),
      schedule: false,
      superviseIntervalSeconds: SUPERVISE_SECONDS,
    });
    boss.on('error', (error) => logger.warn({ reason: describeError(error) }, 'the job queue had a problem'));
    await boss.start();
    for (const kind of kinds) await makeQueue(boss, kind);
    // No other process can be running a job of the embedded database: what says so is of one that was killed.
    if (db.kind === 'embedded') {
      await db.execute("update pgboss.job set state = 'retry', start_after = now() where state = 'active'");
    }
    return new JobQueue(boss, logger);
  }

  /**
   * Queues a job in the transaction of the row that it serves. Call `wake` once the transaction has committed. The kind must be one of
   * those that the queue was opened for.
   */
  async enqueue<Data extends object>(
    sql: Sql,
    kind: JobKind<Data>,
    data: Data,
    { key, group }: JobPlace,
  ): Promise<void> {
    await this.#boss.send(kind.name, data, {
      singletonKey: key,
      ...(group !== undefined && { group: { id: group } }),
      db: fromDrizzle(sql as DrizzleTransactionLike, tag),
    });
  }

  /** Has this process look for jobs of the kind at once, if it runs any. */
  wake(kind: Pick<JobKind<object>, 'name'>): void {
    this.#wakeCalls.get(kind.name)?.wake();
  }

  /** Runs jobs of the kind in this process from now on. A handler that throws is run again, as the kind says. */
  work<Data extends object>(kind: JobKind<Data>, handler: JobHandler<Data>): void {
    const wakeCall = new AsyncEvent();
    this.#wakeCalls.set(kind.name, wakeCall);
    this.#loops.push(this.#loop(kind, handler, wakeCall));
  }

  /** Tells running jobs to stop, waits for them, and gives them back to be run again. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const wakeCall of this.#wakeCalls.values()) wakeCall.wake();
    await Promise.all(this.#loops);
    await this.#boss.stop({ graceful: false, close: false });
  }

  /** Fetches jobs while there is room for them, and ends when the last has ended. */
  async #loop<Data extends object>(
    kind: JobKind<Data>,
    handler: JobHandler<Data>,
    wakeCall: AsyncEvent,
  ): Promise<void> {
    const running = new RunningJobs(kind);
    while (!this.#stopping.signal.aborted) {
      const job = running.hasRoom() ? await this.#next<Data>(kind, running.fullGroups()) : null;
      if (job === null) await wakeCall.wait(POLL_MS);
      else void running.add(job.groupId ?? null, this.#run(kind, job, handler)).then(() => wakeCall.wake());
    }
    await running.ended();
  }

  async #next<Data extends object>(kind: JobKind<Data>, ignoreGroups: string[]): Promise<Job<Data> | null> {
    try {
      const [job] = await this.#boss.fetch<Data>(kind.name, { ignoreGroups });
      return job ?? null;
    } catch (error) {
      this.#logger.warn({ queue: kind.name, reason: describeError(error) }, 'no job could be fetched');
      return null;
    }
  }

  async #run<Data extends object>(kind: JobKind<Data>, job: Job<Data>, handler: JobHandler<Data>): Promise<void> {
    const heartbeat = setInterval(() => void this.#touch(kind, job.id), (HEARTBEAT_SECONDS / 3) * 1000);
    try {
      await handler(job.data, this.#stopping.signal);
      await this.#boss.complete(kind.name, job.id);
    } catch (error) {
      const reason = describeError(error);
      if (!this.#stopping.signal.aborted)
        this.#logger.error({ queue: kind.name, job: job.data, reason }, 'a job failed');
      await this.#boss.fail(kind.name, job.id, { reason }).catch((lost: unknown) => {
        this.#logger.warn({ queue: kind.name, reason: describeError(lost) }, 'a failed job could not be given back');
      });
    } finally {
      clearInterval(heartbeat);
    }
  }

  async #touch(kind: JobKind<object>, id: string): Promise<void> {
    await this.#boss.touch(kind.name, id).catch((error: unknown) => {
      this.#logger.warn({ queue: kind.name, reason: describeError(error) }, 'a job could not be kept');
    });
  }
}

async function makeQueue(boss: PgBoss, kind: JobKind<object>): Promise<void> {
  await boss.createQueue(kind.name, {
    // Of one key one job runs at a time, in their order. The policies with a cached list of busy keys would leave a job waiting for a minute
    // behind one that has ended, and those of other keys behind one whose key is busy.
    policy: 'key_strict_fifo',
    retryLimit: kind.retries,
    retryDelay: kind.retrySeconds,
    retryBackoff: true,
    retryDelayMax: MAX_RETRY_SECONDS,
    expireInSeconds: MAX_JOB_SECONDS,
    heartbeatSeconds: HEARTBEAT_SECONDS,
    deleteAfterSeconds: KEEP_ENDED_SECONDS,
  });
  // Looks the queue up, which is remembered: in a transaction of ours nothing but that transaction may ask the database.
  await boss.findJobs(kind.name, { key: '' });
}
