import { sql as tag } from 'drizzle-orm';
import {
  type ConnectionOptions,
  type DrizzleTransactionLike,
  fromDrizzle,
  type JobWithMetadata,
  PgBoss,
} from 'pg-boss';
import { type Database, LEASE_SECONDS, type Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import type { ProcessLease } from '../leases/process-lease.ts';
import { AsyncEvent } from '../lib/async-event.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { runForOrganization } from '../lib/organization-context.ts';
import { type PeriodicTask, runPeriodically } from '../lib/run-periodically.ts';
import { traceHeaders } from '../lib/trace-headers.ts';
import type { JobConstraints, JobKind } from './define-job.ts';
import { RunningJobs } from './running-jobs.ts';

/** How often each process searches for jobs without a heartbeat. */
const SUPERVISE_SECONDS = 6;
/** Minimum time between two searches of all processes; shorter than the interval above, so that none is skipped. */
const MIN_SUPERVISE_SECONDS = 3;
/** What pg-boss stores with a job whose heartbeat has expired. */
const LOST_HEARTBEAT = 'job heartbeat timeout';
/** Poll interval of an idle process. New jobs send a notification; retries and jobs of killed processes do not. */
const POLL_MS = 2_000;
/** A kind without due jobs is fetched this rarely: a fetch takes a process and its database milliseconds. */
const IDLE_FETCH_MS = 60_000;
/** A job that runs longer than this is considered stuck, even with heartbeats. */
const MAX_JOB_SECONDS = 24 * 60 * 60;
/** Upper bound of the exponential backoff between retries. */
const MAX_RETRY_SECONDS = 300;
/** Finished jobs are kept for this long, for debugging. */
const KEEP_ENDED_SECONDS = 60 * 60;

/** A fetched job; every fetch after the first increments `retryCount`, which identifies the run. */
type Run<Data extends object> = Pick<JobWithMetadata<Data>, 'name' | 'id' | 'data' | 'groupId' | 'retryCount'>;

/** Dependencies of the queue. */
export interface JobQueueDeps {
  db: Database;
  /** Its heartbeats renew the running jobs. */
  lease: ProcessLease;
  logger: Logger;
}

/** One run of a job. The signal aborts when the process stops; an aborted job is run again. */
export type JobHandler<Data extends object> = (data: Data, signal: AbortSignal) => Promise<void>;

/**
 * The job queue in the database (pg-boss). Delivery is at least once: a job becomes visible when its transaction
 * commits, and runs until its handler returns without an error. It may run twice, so handlers replace and never append.
 */
export class JobQueue {
  readonly #boss: PgBoss;
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #lease: ProcessLease;
  /** Aborts each running job that another process has taken over. */
  readonly #held = new Map<Run<object>, AbortController>();
  readonly #events = new Map<string, AsyncEvent>();
  readonly #loops: Promise<void>[] = [];
  readonly #stopping = new AbortController();
  readonly #unlisten: () => void;
  readonly #polling: PeriodicTask;

  private constructor(boss: PgBoss, { db, lease, logger }: JobQueueDeps) {
    this.#boss = boss;
    this.#sql = db.sql;
    this.#logger = logger;
    this.#lease = lease;
    lease.renewWith(() => this.#renewAll());
    this.#unlisten = db.listen('quire_jobs', {
      onNotification: (kind) => this.#events.get(kind)?.wake(),
      onGap: () => this.#wakeAll(),
    });
    this.#polling = runPeriodically(POLL_MS, 'look for due jobs', () => this.#wakeDue(), logger);
  }

  /** Opens the queue and creates its tables. `define` the kinds of jobs before the first is enqueued. */
  static async open(deps: JobQueueDeps): Promise<JobQueue> {
    const { db, logger } = deps;
    const boss = new PgBoss({
      db: { executeSql: (text, values) => db.execute(text, values) },
      schedule: false,
      superviseIntervalSeconds: SUPERVISE_SECONDS,
      // Its default of 60 s would add a minute to the takeover of a job.
      monitorIntervalSeconds: MIN_SUPERVISE_SECONDS,
    });
    boss.on('error', (error) => logger.warn({ error: describeError(error) }, 'job queue error'));
    await boss.start();
    // An active job at this point belongs to a process that was killed: it need not wait for its heartbeat to expire.
    if (db.startsAlone) {
      await db.execute("update pgboss.job set state = 'retry', start_after = now() where state = 'active'");
    }
    return new JobQueue(boss, deps);
  }

  /** Creates or updates the queue of each kind. A process defines every kind that it enqueues or runs. */
  async define(kinds: readonly JobKind<object>[]): Promise<void> {
    for (const kind of kinds) await createQueue(this.#boss, kind);
  }

  /** Enqueues a job of a defined kind in the transaction of the row that it serves. Its commit wakes idle processes. */
  async enqueue<Data extends object>(
    sql: Sql,
    kind: JobKind<Data>,
    data: Data,
    { key, group, delaySeconds }: JobConstraints,
  ): Promise<void> {
    // The trace of the request that enqueues the job, for the link of its span.
    await this.#boss.send(
      kind.name,
      { ...data, ...traceHeaders() },
      {
        singletonKey: key,
        ...(group !== undefined && { group: { id: group } }),
        ...(delaySeconds !== undefined && { startAfter: delaySeconds }),
        db: fromDrizzle(sql as DrizzleTransactionLike, tag),
      },
    );
    await notify(sql, 'quire_jobs', kind.name);
  }

  /**
   * Runs jobs of a kind in this process until `stop`. A job whose handler throws is retried up to the limit.
   * `busyGroups`: groups whose jobs are left to other processes for now; `wake` when there are fewer.
   */
  work<Data extends object>(kind: JobKind<Data>, handler: JobHandler<Data>, busyGroups?: () => string[]): void {
    const event = new AsyncEvent();
    this.#events.set(kind.name, event);
    this.#loops.push(this.#loop(kind, { handler, busyGroups }, event));
  }

  /** Looks for jobs of a kind now, if this process runs them. */
  wake(kind: Pick<JobKind<object>, 'name'>): void {
    this.#events.get(kind.name)?.wake();
  }

  /** Aborts running jobs, waits for them, and returns them to the queue. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unlisten();
    this.#wakeAll();
    await Promise.all([...this.#loops, this.#polling.stop()]);
    await this.#boss.stop({ graceful: false, close: false });
  }

  /**
   * Wakes the kinds with due jobs, in one statement for all. Jobs whose process was killed are due at once: pg-boss
   * counts that as a failure of the job, and after a few kills its backoff would be minutes.
   */
  async #wakeDue(): Promise<void> {
    const kinds = [...this.#events.keys()];
    if (kinds.length === 0) return;
    const due = await this.#sql.execute(tag`
      with released as (
        update pgboss.job set start_after = now()
        where name in ${kinds} and state = 'retry' and start_after > now() and output #>> '{value,message}' = ${LOST_HEARTBEAT}
        returning name
      )
      select name from released
      union
      select name from json_array_elements_text(${JSON.stringify(kinds)}::json) as kind (name)
      where exists (select from pgboss.job where job.name = kind.name and state < 'active' and start_after <= now())`);
    for (const { name } of (due as unknown as { rows: { name: string }[] }).rows) this.#events.get(name)?.wake();
  }

  #wakeAll(): void {
    for (const event of this.#events.values()) event.wake();
  }

  /** Fetches jobs while slots are free. Resolves when the queue is stopping and the last job has ended. */
  async #loop<Data extends object>(
    kind: JobKind<Data>,
    { handler, busyGroups }: { handler: JobHandler<Data>; busyGroups: (() => string[]) | undefined },
    event: AsyncEvent,
  ): Promise<void> {
    const running = new RunningJobs(kind);
    while (!this.#stopping.signal.aborted) {
      const ignored = [...running.fullGroups(), ...(busyGroups?.() ?? [])];
      const job = running.hasFreeSlot() ? await this.#next<Data>(kind, ignored) : null;
      if (job === null) await event.wait(IDLE_FETCH_MS);
      else void running.add(job.groupId ?? null, this.#run(kind, job, handler)).then(() => event.wake());
    }
    await running.ended();
  }

  async #next<Data extends object>(kind: JobKind<Data>, ignoreGroups: string[]): Promise<Run<Data> | null> {
    try {
      const [job] = await this.#boss.fetch<Data>(kind.name, { ignoreGroups, includeMetadata: true });
      return job ?? null;
    } catch (error) {
      this.#logger.warn({ queue: kind.name, error: describeError(error) }, 'job fetch failed');
      return null;
    }
  }

  async #run<Data extends object>(kind: JobKind<Data>, job: Run<Data>, handler: JobHandler<Data>): Promise<void> {
    const takenOver = new AbortController();
    const lost = AbortSignal.any([this.#lease.lost, takenOver.signal]);
    this.#held.set(job, takenOver);
    let isOurs = true;
    let failure: unknown;
    try {
      const signal = AbortSignal.any([this.#stopping.signal, lost]);
      await runForOrganization(job.groupId ?? '', () => handler(job.data, signal));
      isOurs = await this.#whileHeld(kind, job, (options) => this.#boss.complete(kind.name, job.id, null, options));
    } catch (error) {
      failure = error;
      isOurs = !lost.aborted && (await this.#fail(kind, job, error));
    } finally {
      this.#held.delete(job);
    }
    if (isOurs) return;
    const error = failure === undefined ? undefined : describeError(failure);
    this.#logger.warn({ queue: kind.name, job: job.data, error }, 'job lease lost, leaving the job to another process');
  }

  /** Returns the job to the queue. False when another process runs it: its outcome is not ours to report. */
  async #fail(kind: JobKind<object>, job: Run<object>, error: unknown): Promise<boolean> {
    const reason = describeError(error);
    try {
      const isOurs = await this.#whileHeld(kind, job, async (options, sql) => {
        await this.#boss.fail(kind.name, job.id, { reason }, options);
        // A stopping process is no failure of the job: its backoff does not apply.
        if (this.#stopping.signal.aborted)
          await sql.execute(
            tag`update pgboss.job set start_after = now() where name = ${kind.name} and id = ${job.id}`,
          );
      });
      if (isOurs && !this.#stopping.signal.aborted) {
        this.#logger.error({ queue: kind.name, job: job.data, error: reason }, 'job failed');
      }
      return isOurs;
    } catch (lost) {
      const fields = { queue: kind.name, job: job.data, reason, error: describeError(lost) };
      this.#logger.warn(fields, 'failed job could not be returned to the queue');
      return true;
    }
  }

  /**
   * Runs the update of a job in a transaction that locks its row, unless the lease has expired: a process that was
   * suspended does not notice that at once. Returns whether it ran.
   */
  #whileHeld(
    kind: JobKind<object>,
    job: Run<object>,
    update: (options: ConnectionOptions, sql: Sql) => Promise<unknown>,
  ): Promise<boolean> {
    return this.#sql.transaction(async (sql) => {
      const held = await sql.execute(tag`
        select 1 from pgboss.job
        where name = ${kind.name} and id = ${job.id} and state = 'active' and retry_count = ${job.retryCount}
        for update`);
      if ((held as unknown as { rows: unknown[] }).rows.length === 0) return false;
      await update({ db: fromDrizzle(sql as DrizzleTransactionLike, tag) }, sql);
      return true;
    });
  }

  /** Renews the heartbeats of the running jobs, and aborts those that another process runs, as after a suspension. */
  async #renewAll(): Promise<void> {
    const held = [...this.#held];
    if (held.length === 0) return;
    const runs = JSON.stringify(held.map(([{ name, id, retryCount }]) => ({ name, id, run: retryCount })));
    const { rows } = (await this.#sql.execute(tag`
      update pgboss.job set heartbeat_on = now() from json_to_recordset(${runs}::json) as held (name text, id uuid, run int)
      where job.name = held.name and job.id = held.id and retry_count = run and state = 'active' returning job.id`)) as unknown as {
      rows: { id: string }[];
    };
    const renewed = new Set(rows.map(({ id }) => id));
    for (const [{ id }, takenOver] of held)
      if (!renewed.has(id)) takenOver.abort(new Error('the lease of the job was lost'));
  }
}

async function createQueue(boss: PgBoss, kind: JobKind<object>): Promise<void> {
  await boss.createQueue(kind.name, {
    // One running job per key, in order. The other policies cache the list of busy keys: a job would wait up to a
    // minute after the one before it ended, and jobs of idle keys would wait behind one whose key is busy.
    policy: 'key_strict_fifo',
    retryLimit: kind.retries,
    retryDelay: kind.retrySeconds,
    retryBackoff: true,
    retryDelayMax: MAX_RETRY_SECONDS,
    expireInSeconds: MAX_JOB_SECONDS,
    heartbeatSeconds: LEASE_SECONDS,
    deleteAfterSeconds: KEEP_ENDED_SECONDS,
  });
  // Fills the queue cache of pg-boss: lookups inside transactions would need second connections, and could deadlock on
  // the pool.
  await boss.findJobs(kind.name, { key: '' });
}
