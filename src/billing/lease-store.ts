import { and, eq, sql as fragment, ne, not, sum } from 'drizzle-orm';
import { apiKeys, organizations } from '../accounts/tables.ts';
import type { Sql } from '../db/db.ts';
import { isRunning } from '../leases/process-lease.ts';
import { selectBudget } from './budgets/store.ts';
import { sumGroupUsage, sumKeyUsage } from './credits.ts';
import { creditLeases, keySpend } from './tables.ts';

/**
 * A lease is extended by this part of the balance: most reservations need no statement, and little credit lies idle.
 */
const SPARE_DIVISOR = 32;

/** Account of a lease: the balance of an organization, or the budget of a key or a group in one period. */
export interface CreditAccount {
  /** Id of the organization, `key id/period`, or `organization id/budget id/period`. */
  id: string;
  budget: { keyId: string; period: string } | null;
  /** Set for the budget of a group; `keyId` is then the id of the budget. */
  isGroup?: boolean;
}

/** A lease after its extension, in micros. */
export interface ExtendedLease {
  leasedMicros: number;
  /** What the key has spent in the period; 0 for balances. */
  spentMicros: number;
}

/**
 * Sets the lease of this process to `targetMicros` and some more, or to what the other processes have left. The row of
 * the account is locked until the end, so leases never add up to more than the account has.
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
    await transaction.delete(creditLeases).where(and(ofAccount, not(isRunning(fragment`process_id`))));
    const [others] = await transaction
      .select({ total: sum(creditLeases.amountMicros) })
      .from(creditLeases)
      .where(and(ofAccount, ne(creditLeases.processId, processId)));
    const availableMicros = Math.max(0, limitMicros - spentMicros - Number(others?.total ?? 0));
    const restMicros = targetMicros === 0 ? 0 : Math.max(0, availableMicros - targetMicros);
    const spareMicros = Math.floor(restMicros / SPARE_DIVISOR);
    const leasedMicros = Math.min(availableMicros, targetMicros + spareMicros);
    const values = { amountMicros: leasedMicros };
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

/**
 * Locks the row of an account. `limitMicros`: null is unlimited; read, not cached, as another process may change it.
 */
async function lockAccount(
  sql: Sql,
  { id, budget, isGroup = false }: CreditAccount,
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
  const group = isGroup ? await selectBudget(sql, keyId) : null;
  // The budget was deleted, or is no longer enforced.
  if (isGroup && !group?.isEnforced) return { limitMicros: null, spentMicros: 0 };
  let [spend] = await lock();
  if (spend === undefined) {
    const spentMicros = group ? await sumGroupUsage(sql, group, period) : await sumKeyUsage(sql, keyId, period);
    await sql.insert(keySpend).values({ keyId, period, spentMicros }).onConflictDoNothing();
    [spend] = await lock();
  }
  if (group !== null) return { limitMicros: group.amountMicros, spentMicros: spend?.spentMicros ?? 0 };
  const [key] = await sql.select({ budget: apiKeys.budget }).from(apiKeys).where(eq(apiKeys.id, keyId));
  return { limitMicros: key?.budget?.limitMicros ?? null, spentMicros: spend?.spentMicros ?? 0 };
}

/**
 * Lowers leases of this process to the given amounts, in micros; 0 ends a lease. Returns all leases as they were
 * before: missing leases have expired, and leases of 0 were revoked.
 */
export async function lowerLeases(
  sql: Sql,
  processId: string,
  amounts: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const lowered = [...amounts].map(([account, amount]) => ({ account, amount }));
  const { rows } = (await sql.execute(fragment`
    with lowered as (select * from json_to_recordset(${JSON.stringify(lowered)}::json) as row (account text, amount bigint)),
    locked as materialized (
      select account, lowered.amount from credit_leases join lowered using (account) where process_id = ${processId}
      order by account for update of credit_leases
    ),
    ended as (
      delete from credit_leases lease using locked
      where process_id = ${processId} and lease.account = locked.account and amount = 0
    ),
    updated as (
      update credit_leases lease set amount_micros = least(amount_micros, amount) from locked
      where process_id = ${processId} and lease.account = locked.account and amount > 0
    )
    select account, amount_micros as amount from credit_leases where process_id = ${processId}`)) as unknown as {
    rows: { account: string; amount: string }[];
  };
  return new Map(rows.map(({ account, amount }) => [account, Number(amount)]));
}

/** Ends a revoked lease that the process does not use. */
export async function deleteRevokedLease(sql: Sql, processId: string, account: string): Promise<void> {
  const ofProcess = and(eq(creditLeases.processId, processId), eq(creditLeases.account, account));
  await sql.delete(creditLeases).where(and(ofProcess, eq(creditLeases.amountMicros, 0)));
}
