import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { FairSemaphore } from '../lib/fair-semaphore.ts';
import { currentOrganization } from '../lib/organization-context.ts';
import type { PoolUse } from './db.ts';
import { running } from './failed-statement.ts';

/**
 * Connections of the pool, and those that statements of one organization may use: slow queries of one leave connections
 * to others. The hot path writes through one statement at a time, and servers allow about 100 connections in total.
 */
const CONNECTIONS = { total: 10, perGroup: 5 };

/**
 * A pool that shares its connections among organizations. Connection failures are a `FailedStatement` too: transactions
 * connect before their first statement.
 */
export class StatementPool extends Pool {
  readonly #permits = new FairSemaphore(CONNECTIONS);
  readonly #timeoutMs: number;
  /** Connects that wait for a permit. */
  #waiting = 0;
  readonly #giveBack = new WeakMap<PoolClient, () => void>();

  /** `connectionTimeoutMillis` bounds the wait for a free connection. */
  constructor(options: PoolConfig & { connectionTimeoutMillis: number }) {
    super({ ...options, max: CONNECTIONS.total });
    this.#timeoutMs = options.connectionTimeoutMillis;
    this.on('release', (_error, client) => this.#giveBack.get(client)?.());
    // Without a listener, the loss of a connection inside a transaction would end the process. Its statements fail with
    // the reason.
    this.on('connect', (client) => client.on('error', () => {}));
  }

  /** Use of the connections. */
  use(): PoolUse {
    const { totalCount, idleCount } = this;
    const waiting = this.#waiting;
    return { busy: totalCount - idleCount, idle: idleCount, waiting, max: CONNECTIONS.total };
  }

  override connect(): Promise<PoolClient>;
  override connect(done: Parameters<Pool['connect']>[0]): void;
  override connect(done?: Parameters<Pool['connect']>[0]): Promise<PoolClient> | undefined {
    const connected = this.#connect();
    if (done === undefined) return running('begin', () => connected);
    connected.then(
      (client) => done(undefined, client, client.release),
      (error) => done(error, undefined, () => {}),
    );
    return undefined;
  }

  async #connect(): Promise<PoolClient> {
    const group = currentOrganization();
    const giveBack = this.#permits.tryAcquire(group) ?? (await this.#wait(group));
    try {
      const client = await super.connect();
      this.#giveBack.set(client, giveBack);
      return client;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #wait(group: string): Promise<() => void> {
    this.#waiting += 1;
    try {
      return await this.#permits.acquire(group, this.#timeout());
    } finally {
      this.#waiting -= 1;
    }
  }

  #timeout(): AbortSignal {
    const controller = new AbortController();
    // The message of the driver, by which callers are told to try again.
    const timeout = () => controller.abort(new Error('timeout exceeded when trying to connect'));
    setTimeout(timeout, this.#timeoutMs).unref();
    return controller.signal;
  }
}
