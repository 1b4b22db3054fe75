import { eq, sql as fragment, not, type SQL } from 'drizzle-orm';
import { type Database, LEASE_SECONDS } from '../db/db.ts';
import { readNewestMigration } from '../db/migrate.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { processes } from './tables.ts';

/** The holder stops earlier: what it holds must be unused before another process may take it over. */
const HOLD_MS = 0.8 * LEASE_SECONDS * 1_000;
/** Interval of heartbeats: four may fail. */
const HEARTBEAT_MS = 5_000;
/** Interval of the check of the lease's age, which detects suspensions, and of heartbeats after a failed one. */
const CHECK_MS = 1_000;

/** SQL condition: the last heartbeat at `renewedAt` is recent. */
export const isRecent = (renewedAt: SQL | typeof processes.renewedAt): SQL =>
  fragment`${renewedAt} > now() - make_interval(secs => ${LEASE_SECONDS})`;

/** SQL condition: the process of this id runs, or ended less than `LEASE_SECONDS` ago. */
export const isRunning = (processId: SQL): SQL =>
  fragment`exists (select from processes where id = ${processId} and ${isRecent(fragment`renewed_at`)})`;

/**
 * The right of this process to what it holds: credits, slots, jobs, claims. One heartbeat renews it for all of them.
 * Other processes take over what a process holds when its heartbeat is missing for `LEASE_SECONDS`; the process itself
 * stops using it before, after a suspension, or while the database does not respond. Where no other process can use the
 * database, a heartbeat writes nothing.
 */
export class ProcessLease {
  readonly id = newId('process');
  readonly #db: Pick<Database, 'sql' | 'isExclusive' | 'startsAlone'>;
  readonly #logger: Logger;
  readonly #schemaVersion = readNewestMigration();
  readonly #renewals: (() => Promise<void>)[] = [];
  readonly #listeners: (() => void)[] = [];
  #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | null = null;
  /** Monotonic times in milliseconds of the last successful and of the last heartbeat. */
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #losses = 0;

  constructor({ db, logger }: { db: Pick<Database, 'sql' | 'isExclusive' | 'startsAlone'>; logger: Logger }) {
    this.#db = db;
    this.#logger = logger;
  }

  /** Registers the process, and ends what processes hold that have ended. Renews the lease until `stop`. */
  async start(): Promise<this> {
    const { sql, isExclusive, startsAlone } = this.#db;
    await sql.delete(processes).where(startsAlone ? undefined : not(isRecent(processes.renewedAt)));
    if (isExclusive) await sql.insert(processes).values({ id: this.id, renewedAt: fragment`'infinity'` });
    await this.beat();
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
    return this;
  }

  /** Ends all that this process holds. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating?.catch(() => {});
    await this.#db.sql.delete(processes).where(eq(processes.id, this.id));
  }

  /** Whether no other process can have taken over what this process holds. */
  isHeld(): boolean {
    return performance.now() - this.#renewedAtMs < HOLD_MS;
  }

  /** How often this process has lost its lease. */
  get losses(): number {
    return this.#losses;
  }

  /** Time since the last successful heartbeat. */
  get ageSeconds(): number {
    return (performance.now() - this.#renewedAtMs) / 1000;
  }

  /** Aborts when the lease is lost. The next successful heartbeat replaces the signal. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Runs `renewal` with each heartbeat, which fails when it fails. */
  renewWith(renewal: () => Promise<void>): void {
    this.#renewals.push(renewal);
  }

  /** Calls `listener` when the process gets its lease again after a loss: others may have taken over what it held. */
  onRegained(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Renews the lease now. Concurrent calls share a heartbeat. Throws when the database does not respond. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    const sentAtMs = performance.now();
    this.#triedAtMs = sentAtMs;
    const [wasRunning] = await Promise.all([this.#renew(), ...this.#renewals.map((renewal) => renewal())]);
    if (!wasRunning && this.#renewedAtMs > 0) this.#lose();
    this.#renewedAtMs = sentAtMs;
    if (!this.lost.aborted) return;
    this.#lost = new AbortController();
    for (const listener of this.#listeners) listener();
  }

  /** Renews the row of this process. Returns whether it was running for the others. */
  async #renew(): Promise<boolean> {
    if (this.#db.isExclusive) return true;
    const { rows } = (await this.#db.sql.execute(fragment`
      with earlier as (select renewed_at from processes where id = ${this.id})
      insert into processes (id, renewed_at, schema_version) values (${this.id}, now(), ${this.#schemaVersion})
      on conflict (id) do update set renewed_at = excluded.renewed_at
      returning (select ${isRecent(fragment`renewed_at`)} from earlier) as was_running`)) as unknown as {
      rows: { was_running: boolean | null }[];
    };
    return rows[0]?.was_running === true;
  }

  #check(): void {
    if (!this.isHeld()) this.#lose();
    const intervalMs = this.isHeld() ? HEARTBEAT_MS : CHECK_MS;
    if (performance.now() - this.#triedAtMs < intervalMs) return;
    this.beat().catch((error: unknown) => this.#logger.warn({ error: describeError(error) }, 'heartbeat failed'));
  }

  #lose(): void {
    if (this.lost.aborted) return;
    this.#losses += 1;
    this.#logger.warn({ processId: this.id }, 'process lease lost');
    this.#lost.abort(new Error('the lease of the process was lost'));
  }
}
