import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { OperatorError } from '../lib/operator-error.ts';

/**
 * Rounds of the probe behind a pooler. A round misses only when another client of the pooler takes and returns the
 * probed connection within it.
 */
const ROUNDS = 50;

/**
 * How long a transaction of the probe may hold its session while the other connection waits for one, in milliseconds.
 * Several services that probe one pooler concurrently could otherwise take all its sessions and wait for each other.
 */
const HOLD_MS = 500;

/** Limits of a session, in milliseconds. */
export interface SessionLimits {
  statementTimeoutMs: number;
  idleInTransactionMs: number;
}

/**
 * Returns the statement that limits a session. Poolers such as PgBouncer reject a connection that asks for these
 * parameters at its start.
 */
export const sessionSettings = ({ statementTimeoutMs, idleInTransactionMs }: SessionLimits): string =>
  `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = ${idleInTransactionMs}`;

/**
 * Throws an `OperatorError` when a pooler serves the transactions of one connection by several sessions of the server:
 * locks, notifications and settings of a session would be lost. A direct connection costs one statement: its server
 * process is the one that the protocol named. Behind a pooler, a session is compared with itself while another
 * connection holds a transaction, which takes its session away unless sessions belong to connections.
 */
export async function requireSessionPooling(pool: Pool, name: string): Promise<void> {
  const first = await pool.connect();
  let second: PoolClient | null = null;
  let isDirect = false;
  try {
    const own = await selectServerProcess(first);
    // The driver knows it; its types do not.
    isDirect = (first as unknown as { processID: number }).processID === own;
    if (isDirect) return;
    second = await pool.connect();
    for (let round = 0; round < ROUNDS; round += 1) {
      if (await isShared(first, second, own)) throw notSessionPooling(name);
    }
  } finally {
    // What the probe has done to the sessions ends with them.
    first.release(!isDirect);
    second?.release(true);
  }
}

async function isShared(first: PoolClient, second: PoolClient, own: number): Promise<boolean> {
  if ((await selectServerProcess(first)) !== own) return true;
  try {
    await second.query('begin');
  } catch (error) {
    // Statement pooling allows no transactions.
    if (/not allowed/.test(String(error))) return true;
    throw error;
  }
  // Requested first: with a single session, the other connection would wait for the end of this transaction.
  const taken = await selectServerProcess(second);
  const process = taken === own ? taken : selectServerProcess(first);
  const answered = new AbortController();
  await Promise.race([process, delay(HOLD_MS, null, { signal: answered.signal })]).finally(() => answered.abort());
  await second.query('rollback');
  return taken === own || (await process) !== own;
}

async function selectServerProcess(client: PoolClient): Promise<number> {
  return (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
}

function notSessionPooling(name: string): OperatorError {
  return new OperatorError(
    `${name} is reached through a pooler that does not keep a session for each connection (PgBouncer with pool_mode = transaction or statement), and Quire needs sessions for its locks and notifications: set pool_mode = session for this database in pgbouncer.ini, or set QUIRE_DATABASE_URL to the server itself.`,
  );
}
