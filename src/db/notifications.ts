import { setTimeout as sleep } from 'node:timers/promises';
import { sql as tag } from 'drizzle-orm';
import { Client, type ClientConfig } from 'pg';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { CHANNELS, type Channel, type NotificationListener, type Sql } from './db.ts';

const MIN_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 1_000;
/** A connection that a firewall dropped silently is detected after at most the sum of both. */
const HEARTBEAT_MS = 10_000;
const HEARTBEAT_TIMEOUT_MS = 5_000;

/**
 * Sends a notification when the transaction of `sql` commits; immediately outside of a transaction. Payload: under
 * 8,000 bytes.
 */
export async function notify(sql: Sql, channel: Channel, payload = ''): Promise<void> {
  await sql.execute(tag`select pg_notify(${channel}, ${payload})`);
}

/**
 * Receives notifications of a PostgreSQL database on its own connection, which opens with the first subscriber and
 * reconnects when it ends. Delivery is at most once: subscribers also poll, or limit how long they rely on cached
 * state.
 */
export class Notifications {
  readonly #config: ClientConfig;
  readonly #logger: Logger;
  readonly #listeners = new Map<Channel, Set<NotificationListener>>();
  readonly #stopping = new AbortController();
  #client: Client | null = null;
  #isConnected = false;
  #running: Promise<void> | null = null;

  constructor(config: ClientConfig, logger: Logger) {
    this.#config = { ...config, keepAlive: true, query_timeout: HEARTBEAT_TIMEOUT_MS };
    this.#logger = logger;
  }

  /** Subscribes to a channel. Returns the function that ends the subscription. */
  listen(channel: Channel, listener: NotificationListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    this.#running ??= this.#run();
    if (this.#isConnected) listener.onGap();
    return () => void listeners.delete(listener);
  }

  /** Ends the connection. May be called twice. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#client?.end().catch(() => {});
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let delayMs = MIN_RECONNECT_MS;
    while (!signal.aborted) {
      const error = await this.#receive(() => {
        delayMs = MIN_RECONNECT_MS;
      });
      if (signal.aborted) return;
      this.#logger.warn({ error: describeError(error), delayMs }, 'database notifications interrupted, reconnecting');
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => {});
      delayMs = Math.min(delayMs * 2, MAX_RECONNECT_MS);
    }
  }

  /** Connects and receives until the connection ends. Returns the reason. */
  async #receive(onConnected: () => void): Promise<unknown> {
    const client = new Client(this.#config);
    this.#client = client;
    let failure: unknown = new Error('the connection was closed');
    client.on('error', (error) => {
      failure = error;
    });
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
    let heartbeat: NodeJS.Timeout | undefined;
    try {
      // `connect()` never settles when `close()` comes first.
      await Promise.race([client.connect(), ended.then(() => Promise.reject(failure))]);
      client.on('notification', ({ channel, payload }) => this.#deliver(channel, payload ?? ''));
      await client.query(CHANNELS.map((channel) => `listen ${channel}`).join('; '));
      // A failed heartbeat ends the connection, even one that hangs.
      heartbeat = setInterval(() => void client.query('select 1').catch(() => client.end()), HEARTBEAT_MS).unref();
      this.#isConnected = true;
      onConnected();
      for (const listener of [...this.#listeners.values()].flatMap((some) => [...some])) listener.onGap();
      await ended;
      return failure;
    } catch (error) {
      await client.end().catch(() => {});
      return error;
    } finally {
      this.#isConnected = false;
      clearInterval(heartbeat);
    }
  }

  #deliver(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel as Channel) ?? []) listener.onNotification(payload);
  }
}
