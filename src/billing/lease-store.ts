import { and, eq, sql as fragment, ne, sum } from 'drizzle-orm';
import { apiKeys, organizations } from '../accounts/tables.ts';
import type { Sql } from '../db/db.ts';
import { sumKeyUsage } from './credits.ts';
import { PROCESSES } from './revoke-leases.ts';
import { creditLeases, keySpend } from './tables.ts';

/** A lease that is not renewed for this time has lost its process. */
export const LEASE_MS = 30_000;
/** A lease is extended by this part of what is left, so that most reservations need no statement, and the last credits none too many. */
const SPARE_DIVISOR = 32;

/** What a lease holds a part of: the balance of an organization, or the budget of a key in one period. */
export interface CreditAccount {
  /** Id of the organization, or `key id/period`. */
  id: string;
  budget: { keyId: string; period: string } | null;
}

/** A lease after its extension, in micros. */
export interface ExtendedLease {
  leasedMicros: number;
  /** What the key has spent in the period; 0 for balances. */
  spentMicros: number;
}

/**
 * Sets the lease of this process to `targetMicros` and some more, or to what the other processes have left. The row of the account is locked
 * until the end, so leases never add up to more than the account has.
 */
export function extendLease(
  sql: Sql,
  processId: string,
  account: CreditAccount,
  targetMicros: number,
): Promise<ExtendedLease> {
  return sql.transaction(async (transaction) => {
    const { limitMicros, spentMicros } = await lockAccount(transaction, account);
    // The balance has been made unlimited: the ledger charges nothing.
    if (limitMicros === null) return { leasedMicros: targetMicros, spentMicros };
    const ofAccount = eq(creditLeases.account, account.id);
    await transaction.delete(creditLeases).where(and(ofAccount, fragment`${creditLeases.expiresAt} < now()`));
    const [others] = await transaction
      .select({ total: sum(creditLeases.amountMicros) })
      .from(creditLeases)
      .where(and(ofAccount, ne(creditLeases.processId, processId)));
    const availableMicros = Math.max(0, limitMicros - spentMicros - Number(others?.total ?? 0));
    const restMicros = targetMicros === 0 ? 0 : Math.max(0, availableMicros - targetMicros);
    const spareMicros = Math.floor(restMicros / SPARE_DIVISOR);
    const leasedMicros = Math.min(availableMicros, targetMicros + spareMicros);
    const values = { amountMicros: leasedMicros, expiresAt: LEASE_END };
    // A lease of 0 is one that was revoked.
    if (leasedMicros === 0)
      await transaction.delete(creditLeases).where(and(ofAccount, eq(creditLeases.processId, processId)));
    else {
      await transaction
        .insert(creditLeases)
        .values({ account: account.id, processId, ...values })
        .onConflictDoUpdate({ target: [creditLeases.account, creditLeases.processId], set: values });
    }
    return { leasedMicros, spentMicros };
  });
}

const LEASE_END = fragment<Date>`now() + make_interval(secs => ${LEASE_MS / 1_000})`;

/** Locks the row of an account. `limitMicros`: null is unlimited. Limits are read, not cached: this process may not know a new one yet. */
async function lockAccount(
  sql: Sql,
  { id, budget }: CreditAccount,
): Promise<{ limitMicros: number | null; spentMicros: number }> {
  if (budget === null) {
    const [organization] = await sql
      .select({ balanceMicros: organizations.balanceMicros })
      .from(organizations)
      .where(eq(organizations.id, id))
      .for('no key update');
    return { limitMicros: organization?.balanceMicros ?? null, spentMicros: 0 };
  }
  const { keyId, period } = budget;
  const lock = () =>
    sql
      .select({ spentMicros: keySpend.spentMicros })
      .from(keySpend)
      .where(and(eq(keySpend.keyId, keyId), eq(keySpend.period, period)))
      .for('no key update');
  let [spend] = await lock();
  if (spend === undefined) {
    const spentMicros = await sumKeyUsage(sql, keyId, period);
    await sql.insert(keySpend).values({ keyId, period, spentMicros }).onConflictDoNothing();
    [spend] = await lock();
  }
  const [key] = await sql.select({ budget: apiKeys.budget }).from(apiKeys).where(eq(apiKeys.id, keyId));
  return { limitMicros: key?.budget?.limitMicros ?? null, spentMicros: spend?.spentMicros ?? 0 };
}

/** A lease that goes on with at most this amount; 0 ends it. */
export interface RenewedLease {
  account: string;
  amountMicros: number;
}

/** Renews the leases of a process. Returns the renewed leases; expired leases are missing, because other processes may use their credits. */
export async function renewLeases(
  sql: Sql,
  processId: string,
  leases: readonly RenewedLease[],
): Promise<RenewedLease[]> {
  const { rows } = (await sql.execute(fragment`
    with renewed as (select * from json_to_recordset(${JSON.stringify(leases)}::json) as row ("account" text, "amountMicros" bigint)),
    locked as materialized (
      select account from credit_leases where process_id = ${processId} and account in (select account from renewed)
      order by account for update
    ),
    ended as (
      delete from credit_leases lease using renewed, locked where lease.process_id = ${processId}
        and lease.account = renewed.account and locked.account = lease.account and renewed."amountMicros" = 0
    )
    update credit_leases lease
    set amount_micros = least(lease.amount_micros, renewed."amountMicros"), expires_at = ${LEASE_END}
    from renewed, locked where lease.process_id = ${processId} and lease.account = renewed.account
      and locked.account = lease.account and renewed."amountMicros" > 0
    returning lease.account, lease.amount_micros as amount`)) as unknown as {
    rows: { account: string; amount: string }[];
  };
  return rows.map(({ account, amount }) => ({ account, amountMicros: Number(amount) }));
}

/** Announces a process as live for `LEASE_MS`. Returns the accounts of which its lease was revoked. */
export async function announceProcess(sql: Sql, processId: string): Promise<string[]> {
  // Written every ten seconds only: a transaction that only reads needs no flush.
  const { rows } = (await sql.execute(fragment`
    with announced as (
      insert into credit_leases (account, process_id, amount_micros, expires_at)
      select ${PROCESSES}, ${processId}, 0, ${LEASE_END} where not exists (select from credit_leases
        where account = ${PROCESSES} and process_id = ${processId} and expires_at > ${LEASE_END} - interval '10 seconds')
      on conflict (account, process_id) do update set expires_at = excluded.expires_at
    )
    select account from credit_leases
    where process_id = ${processId} and account <> ${PROCESSES} and amount_micros = 0`)) as unknown as {
    rows: { account: string }[];
  };
  return rows.map(({ account }) => account);
}

/** Ends a revoked lease of which the process uses nothing. */
export async function deleteRevokedLease(sql: Sql, processId: string, account: string): Promise<void> {
  const ofProcess = and(eq(creditLeases.processId, processId), eq(creditLeases.account, account));
  await sql.delete(creditLeases).where(and(ofProcess, eq(creditLeases.amountMicros, 0)));
}

/** Deletes the rows of processes that have ended without `deleteLeases`. */
export async function deleteEndedProcesses(sql: Sql): Promise<void> {
  const isUnused = and(eq(creditLeases.amountMicros, 0), fragment`${creditLeases.expiresAt} < now()`);
  await sql.delete(creditLeases).where(isUnused);
}

/** Ends the leases of a process; null: of all processes. */
export async function deleteLeases(sql: Sql, processId: string | null): Promise<void> {
  await sql.delete(creditLeases).where(processId === null ? undefined : eq(creditLeases.processId, processId));
}
