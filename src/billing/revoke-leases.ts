import { setTimeout as sleep } from 'node:timers/promises';
import { and, eq, sql as fragment, like, or } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import { isRecent, isRunning } from '../leases/process-lease.ts';
import { processes } from '../leases/tables.ts';
import { creditLeases } from './tables.ts';

/** Interval of queries for revoked leases. Processes that are notified end theirs within milliseconds. */
const POLL_MS = 20;

/**
 * Revokes the leases of an organization, or of the budgets of a key, in the transaction that lowers their limit: sets
 * them to 0. Processes are notified, or notice within a second, and replace or delete theirs once they use no more of
 * it.
 */
export async function revokeLeases(sql: Sql, id: string): Promise<void> {
  // In the order of the other statements, so that none of them deadlock.
  await sql.execute(fragment`
    with locked as materialized (
      select account, process_id from credit_leases where ${matchesHolder(id)} order by account, process_id for update
    )
    update credit_leases set amount_micros = 0 from locked
    where credit_leases.account = locked.account and credit_leases.process_id = locked.process_id`);
  await notify(sql, 'quire_api_keys', id);
}

/**
 * Revokes leases as `revokeLeases` does, in the transaction that introduces or replaces a limit: processes that were
 * not limited, or limited otherwise, hold no lease of it. Each running process gets a revoked one, and deletes it once
 * it has read the limit again.
 */
export async function revokeEverywhere(sql: Sql, id: string): Promise<void> {
  await sql.execute(fragment`
    insert into credit_leases (account, process_id, amount_micros)
    select ${id}, id, 0 from ${processes} where ${isRecent(processes.renewedAt)} order by id
    on conflict (account, process_id) do update set amount_micros = 0`);
  await revokeLeases(sql, id);
}

/**
 * Resolves when no process can use a revoked lease of an organization or a key: within milliseconds, where
 * notifications are lost after two seconds, and at the latest when a process that does not answer counts as ended.
 */
export async function awaitRevocations(sql: Sql, id: string): Promise<void> {
  const isRevoked = and(matchesHolder(id), eq(creditLeases.amountMicros, 0), isRunning(fragment`process_id`));
  while ((await sql.select().from(creditLeases).where(isRevoked).limit(1)).length > 0) await sleep(POLL_MS);
}

const matchesHolder = (id: string) => or(eq(creditLeases.account, id), like(creditLeases.account, `${id}/%`));
