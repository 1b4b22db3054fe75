import type { EventEmitter } from 'node:events';
import type { Pool } from 'pg';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { ReadCache } from '../lib/read-cache.ts';
import { FREE_SPACE } from '../lib/store-unavailable.ts';
import { CANNOT_WRITE } from './failed-statement.ts';

/**
 * Time for which a server counts as not writable after a failed write. The probe does not notice a limit on the size of
 * tables, as hosted databases have.
 */
const WRITE_FAILURE_MS = 5_000;
/** `/readyz` needs no key, so its probes are limited. */
const PROBE_INTERVAL_MS = 1_000;
/**
 * Writes 300 KB to a temporary file beside the tables, without WAL: the rows exceed `work_mem`. Several statements in
 * one message are one transaction.
 */
const WRITE_PROBE = `set local work_mem = '64kB'; select count(*) from generate_series(1, 20000);
  do $$ begin if current_setting('transaction_read_only')::boolean
    then raise exception 'the server is read-only' using errcode = '25006'; end if; end $$`;

/**
 * Returns the check of a server: it throws an `OperatorError` when the server does not respond or cannot write. `name`
 * begins the sentence. The check reaches the server by a write probe or by the function that it is given. Call this
 * before the first connection.
 */
export function createCheck(pool: Pool, name: string): (reach?: () => Promise<unknown>) => Promise<void> {
  const failure = recordWriteFailures(pool);
  const probes = new ReadCache<unknown>({ ttlMs: PROBE_INTERVAL_MS, maxEntries: 1, now: () => performance.now() });
  const probe = async () => probes.get('', () => pool.query(WRITE_PROBE));
  const requireWrites = () => {
    const reason = failure.recent();
    if (reason !== null) throw new OperatorError(`${name} cannot write: ${reason}. ${FREE_SPACE}`);
  };
  return async (reach = probe) => {
    requireWrites();
    try {
      await reach();
    } catch (error) {
      requireWrites();
      throw new OperatorError(`${name} does not answer: ${describeError(error)}`);
    }
  };
}

/** Listens to error messages at the protocol level, where the driver has one event for errors of all statements. */
interface ErrorMessage {
  code?: string;
  message?: string;
}

/** Records when the server last reported that it cannot write. */
function recordWriteFailures(pool: Pool): { recent(): string | null } {
  let last: { atMs: number; reason: string } | null = null;
  pool.on('connect', (client) => {
    const { connection } = client as unknown as { connection: EventEmitter };
    connection.on('errorMessage', ({ code = '', message = '' }: ErrorMessage) => {
      if (CANNOT_WRITE.has(code)) last = { atMs: performance.now(), reason: `${message} (code ${code})` };
    });
  });
  return {
    recent: () => (last !== null && performance.now() - last.atMs < WRITE_FAILURE_MS ? last.reason : null),
  };
}
