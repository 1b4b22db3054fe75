import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';

/** Lock class: any number that no other two-integer lock of the database uses. */
const LOCK_CLASS = 715_502;
/** Polling interval of waiters, with exponential backoff. Locks are held for milliseconds to minutes. */
const MIN_WAIT_MS = 20;
const MAX_WAIT_MS = 250;
/** Equal to the statement timeout: a process that is short of CPU receives responses late. */
const QUERY_TIMEOUT_MS = 30_000;
/** Maximum number of consecutive connection failures while a task waits for its lock. */
const MAX_FAILURES = 10;
/**
 * The server ends the connection, and thereby the locks, of a process that is suspended for this time. Other processes
 * send heartbeats.
 */
const SUSPENDED_MS = 60_000;
const KEEP_ALIVE_MS = SUSPENDED_MS / 4;

/**
 * Locks between all processes on a PostgreSQL database (session-level advisory locks), on one connection that opens
 * with the first lock. The server releases the locks of a process that exits or is suspended for a minute. They are
 * also lost with the connection. Holders must stay correct without the lock and may only lose efficiency, like a write
 * that detects a conflict.
 */
export class AdvisoryLocks {
  readonly #config: ClientConfig;
  readonly #logger: Logger;
  /** Names held by this process. PostgreSQL would grant them to the same session again. */
  readonly #held = new Set<string>();
  readonly #closing = new AbortController();
  #connection: Promise<Client> | null = null;

  constructor(config: ClientConfig, logger: Logger) {
    this.#config = { ...config, keepAlive: true, query_timeout: QUERY_TIMEOUT_MS };
    this.#logger = logger;
  }

  /**
   * Runs the task while no other task in any process holds the lock of that name. Throws when the database does not
   * respond.
   */
  async withLock<T>(name: string, task: () => Promise<T>): Promise<T> {
    await this.#acquire(name);
    try {
      return await task();
    } finally {
      await this.#release(name);
    }
  }

  /** Ends the connection, and with it all locks. May be called twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    const client = await this.#connection?.catch(() => null);
    await client?.end().catch(() => {});
  }

  async #acquire(name: string): Promise<void> {
    let failures = 0;
    for (let waitMs = MIN_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
      this.#closing.signal.throwIfAborted();
      if (!this.#held.has(name)) {
        this.#held.add(name);
        try {
          if (await this.#tryLock(name)) return;
          failures = 0;
        } catch (error) {
          failures += 1;
          if (failures === MAX_FAILURES) throw error;
        }
      }
      await sleep(waitMs, undefined, { signal: this.#closing.signal });
    }
  }

  async #tryLock(name: string): Promise<boolean> {
    let isLocked = false;
    try {
      isLocked = await this.#call(await this.#connect(), 'pg_try_advisory_lock', name);
    } finally {
      if (!isLocked) this.#held.delete(name);
    }
    return isLocked;
  }

  /** A lock that cannot be released is released with its connection. */
  async #release(name: string): Promise<void> {
    const client = await this.#connection?.catch(() => null);
    if (client != null) await this.#call(client, 'pg_advisory_unlock', name).catch(() => {});
    this.#held.delete(name);
  }

  async #call(client: Client, lockFunction: string, name: string): Promise<boolean> {
    try {
      const { rows } = await client.query(`select ${lockFunction}($1, hashtext($2)) as done`, [LOCK_CLASS, name]);
      return rows[0].done;
    } catch (error) {
      this.#logger.warn({ error: describeError(error) }, 'database lock connection failed, closing it');
      await client.end().catch(() => {});
      throw error;
    }
  }

  #connect(): Promise<Client> {
    if (this.#connection !== null) return this.#connection;
    const connection = this.#open(() => {
      if (this.#connection === connection) this.#connection = null;
    });
    this.#connection = connection;
    return connection;
  }

  async #open(onEnd: () => void): Promise<Client> {
    const client = new Client(this.#config);
    client.on('error', (error) => this.#logger.warn({ error: describeError(error) }, 'database locks lost'));
    const keepAlive = setInterval(() => void client.query('select 1').catch(() => client.end()), KEEP_ALIVE_MS).unref();
    client.once('end', () => {
      clearInterval(keepAlive);
      onEnd();
    });
    try {
      await client.connect();
      await client.query(`set idle_session_timeout = ${SUSPENDED_MS}`);
      return client;
    } catch (error) {
      this.#logger.warn({ error: describeError(error) }, 'database lock connection not opened');
      clearInterval(keepAlive);
      onEnd();
      await client.end().catch(() => {});
      throw error;
    }
  }
}
