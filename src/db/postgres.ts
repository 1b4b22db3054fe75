import { drizzle } from 'drizzle-orm/node-postgres';
import { Client, type ClientBase, type Pool, type PoolConfig } from 'pg';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { runForOrganization } from '../lib/organization-context.ts';
import { AdvisoryLocks } from './advisory-locks.ts';
import { awaitServer } from './await-server.ts';
import { createCheck } from './check-server.ts';
import type { Database } from './db.ts';
import { keepValuesOutOfErrors, running } from './failed-statement.ts';
import { migrate } from './migrate.ts';
import { Notifications } from './notifications.ts';
import { requireSessionPooling, type SessionLimits, sessionSettings } from './session-pooling.ts';
import { StatementPool } from './statement-pool.ts';

/** Connect timeout: a slower server counts as down. */
const CONNECT_TIMEOUT_MS = 5_000;
const LIMITS: SessionLimits = {
  /** All queries are index look-ups or bounded writes, so a longer one is stuck. */
  statementTimeoutMs: 30_000,
  /** Ends transactions of suspended processes, whose locks would block others. */
  idleInTransactionMs: 15_000,
};

/** Address and name of a PostgreSQL server. */
export interface PostgresServer extends Pick<Database, 'description' | 'isExclusive' | 'startsAlone'> {
  connection: Pick<PoolConfig, 'connectionString' | 'host' | 'port' | 'user' | 'database'>;
  /** Subject of messages for the operator, without a password. */
  name: string;
}

/** Opens a PostgreSQL by its URL; waits while it starts or recovers. Throws an `OperatorError` without response. */
export function openPostgres(url: string, logger: Logger): Promise<Database> {
  return openPool(serverAt(url), logger);
}

/** Describes the PostgreSQL at a URL. */
export function serverAt(url: string): PostgresServer {
  const name = `The database at ${withoutPassword(url)}`;
  const sharing = { isExclusive: false, startsAlone: false };
  return { connection: { connectionString: url }, name, description: 'PostgreSQL', ...sharing };
}

/** Opens connections to a running server. Throws an `OperatorError` when it does not respond. */
export async function openPool(server: PostgresServer, logger: Logger): Promise<Database> {
  const { connection, name, description, isExclusive, startsAlone } = server;
  const options = {
    ...connection,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'quire',
  };
  const pool = new StatementPool({ ...options, onConnect: (client) => client.query(sessionSettings(LIMITS)) });
  const notifications = new Notifications({ ...options, application_name: 'quire-notifications' }, logger);
  const locks = new AdvisoryLocks({ ...options, application_name: 'quire-locks' }, logger);
  // Without a listener, an idle connection that the server closes would end the process. The pool reconnects on demand.
  pool.on('error', (error) => {
    // An embedded server may close connections before the pool has ended all of them.
    if (!pool.ending) logger.warn({ reason: describeError(error) }, 'a database connection was lost');
  });
  keepValuesOutOfErrors();
  const check = createCheck(pool, name);
  try {
    await check(() => awaitServer(() => pool.query('select 1'), name, logger));
    if (!isExclusive) await requireSessionPooling(pool, name);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    description,
    isExclusive,
    startsAlone,
    sql: drizzle(pool),
    // Statements of the service itself: one may serve several organizations, as the group commit of the usage records
    // does.
    prepare: (name, text) => (parameter) =>
      runForOrganization('', () =>
        running(text, async () => (await pool.query({ name, text, values: [parameter] })).rows),
      ),
    execute: (text, values) => execute(pool, text, values),
    withSession: (task) => withSession({ ...connection, application_name: 'quire-session' }, task),
    connections: () => pool.use(),
    check: () => check(),
    migrate: () => migrate(pool, { logger, isAlone: startsAlone }),
    listen: (channel, listener) => notifications.listen(channel, listener),
    withLock: (lock, task) => locks.withLock(lock, task),
    close: closeOnce(async () => {
      await Promise.all([pool.end(), notifications.close(), locks.close()]);
    }),
  };
}

function execute(connection: Pool | ClientBase, text: string, values?: unknown[]): Promise<{ rows: unknown[] }> {
  return running(text, async () => {
    // Several statements return several results, which the driver's types do not cover.
    const results = [await connection.query(text, values)].flat();
    return { rows: results.flatMap(({ rows }) => rows) };
  });
}

async function withSession<T>(
  options: PoolConfig,
  task: (session: Pick<Database, 'execute'>) => Promise<T>,
): Promise<T> {
  const client = new Client({ ...options, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // The next statement of the task fails.
  client.on('error', () => {});
  await client.connect();
  try {
    return await task({ execute: (text, values) => execute(client, text, values) });
  } finally {
    await client.end().catch(() => {});
  }
}

function closeOnce(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | null = null;
  return () => {
    closing ??= close();
    return closing;
  };
}

/** The URL without user, password and parameters, for messages. */
export function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url);
    return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  } catch {
    return 'QUIRE_DATABASE_URL';
  }
}
