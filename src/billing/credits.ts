import { and, asc, eq, sql as fragment, gt, gte, inArray, isNull, lt, type SQL, sum } from 'drizzle-orm';
import { organizations } from '../accounts/tables.ts';
import type { Sql } from '../db/db.ts';
import { notify } from '../db/notifications.ts';
import type { PageBounds } from '../db/page.ts';
import { invalidValue } from '../errors.ts';
import { isRunning } from '../leases/process-lease.ts';
import type { KeyBudget } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import type { BudgetRow } from './budgets/store.ts';
import { revokeEverywhere, revokeLeases } from './revoke-leases.ts';
import { creditLeases, creditTransactions, keySpend, usageDaily, usageRecords } from './tables.ts';
import { firstIdAt, rolledUpUntil } from './usage-store.ts';

export type CreditTransactionRow = typeof creditTransactions.$inferSelect;

/** Credits of an organization, in micros. */
export interface CreditBalance {
  /** Null: unlimited. */
  balanceMicros: number | null;
  /** Part of the balance that processes hold for calls in progress. */
  reservedMicros: number;
}

/** Who changes a balance, and why. */
export interface CreditActor {
  /** Id of a key, or `cli`. */
  actor: string;
  note: string | null;
}

/** Reads the balance of an organization; null when it does not exist or is deleted. */
export async function readBalance(sql: Sql, organizationId: string): Promise<CreditBalance | null> {
  const [row] = await sql
    .select({ balanceMicros: organizations.balanceMicros })
    .from(organizations)
    .where(and(eq(organizations.id, organizationId), isNull(organizations.deletedAt)));
  return row === undefined ? null : { ...row, reservedMicros: await sumLeases(sql, organizationId) };
}

/** Adds up the leases of an account, in micros. */
export async function sumLeases(sql: Sql, account: string): Promise<number> {
  const [row] = await sql
    .select({ total: sum(creditLeases.amountMicros) })
    .from(creditLeases)
    .where(and(eq(creditLeases.account, account), isRunning(fragment`process_id`)));
  return Number(row?.total ?? 0);
}

/**
 * Sets the balance of an organization; null makes it unlimited. Calls in progress are charged what the new balance
 * covers. Returns the transaction; null when the organization does not exist.
 */
export function setBalance(
  sql: Sql,
  organizationId: string,
  balanceMicros: number | null,
  by: CreditActor,
): Promise<CreditTransactionRow | null> {
  return changeBalance(sql, organizationId, by, (current) => ({
    kind: balanceMicros === null ? 'unlimited' : 'set',
    balanceMicros,
    amountMicros: (balanceMicros ?? 0) - (current ?? 0),
  }));
}

/**
 * Adds credit; a negative amount subtracts it. Returns the transaction; null when the organization does not exist.
 * Throws 400 `invalid_value` with param `amount_micros` when the balance is unlimited or would be negative.
 */
export function adjustBalance(
  sql: Sql,
  organizationId: string,
  amountMicros: number,
  by: CreditActor,
): Promise<CreditTransactionRow | null> {
  return changeBalance(sql, organizationId, by, (current) => {
    if (current === null)
      throw invalidValue('amount_micros', 'needs a balance: that of this organization is unlimited');
    const balanceMicros = current + amountMicros;
    if (balanceMicros < 0)
      throw invalidValue('amount_micros', `must be at least -${current}, the balance is ${current} micros`);
    if (!Number.isSafeInteger(balanceMicros)) throw invalidValue('amount_micros', 'makes the balance too large');
    return { kind: 'adjustment', balanceMicros, amountMicros };
  });
}

interface BalanceChange {
  kind: CreditTransactionRow['kind'];
  balanceMicros: number | null;
  amountMicros: number;
}

/** Changes a balance and inserts its transaction while the row of the organization is locked. */
function changeBalance(
  sql: Sql,
  organizationId: string,
  { actor, note }: CreditActor,
  change: (current: number | null) => BalanceChange,
): Promise<CreditTransactionRow | null> {
  return sql.transaction(async (transaction) => {
    const ofOrganization = and(eq(organizations.id, organizationId), isNull(organizations.deletedAt));
    const [row] = await transaction
      .select({ current: organizations.balanceMicros })
      .from(organizations)
      .where(ofOrganization)
      .for('no key update');
    if (row === undefined) return null;
    const { kind, balanceMicros, amountMicros } = change(row.current);
    await transaction.update(organizations).set({ balanceMicros }).where(ofOrganization);
    if (row.current === null && balanceMicros !== null) await revokeEverywhere(transaction, organizationId);
    else if ((balanceMicros ?? 0) < (await sumLeases(transaction, organizationId))) {
      await revokeLeases(transaction, organizationId);
    }
    const values = {
      id: newId('creditTransaction'),
      organizationId,
      amountMicros,
      kind,
      actor,
      note,
      createdAt: new Date(),
    };
    const [inserted] = await transaction.insert(creditTransactions).values(values).returning();
    // Every process reads the limits of the organization again: it has no balance any more.
    if (row.current !== null && balanceMicros === null) await notify(transaction, 'quire_api_keys', organizationId);
    return inserted ?? null;
  });
}

/** Selects the credit transactions of an organization, oldest first. */
export function selectCreditTransactions(
  sql: Sql,
  organizationId: string,
  bounds: PageBounds,
): Promise<CreditTransactionRow[]> {
  const after = bounds.after === null ? undefined : gt(creditTransactions.id, bounds.after);
  return sql
    .select()
    .from(creditTransactions)
    .where(and(eq(creditTransactions.organizationId, organizationId), after))
    .orderBy(asc(creditTransactions.id))
    .limit(bounds.limit + 1);
}

/** Returns the budget period that contains `now` (Unix milliseconds), in UTC: `2026-03-10`, `2026-03` or `total`. */
export function budgetPeriod({ period }: Pick<KeyBudget, 'period'>, now: number): string {
  if (period === 'total') return 'total';
  return new Date(now).toISOString().slice(0, period === 'day' ? 'YYYY-MM-DD'.length : 'YYYY-MM'.length);
}

/** Returns the spend of a key in the current budget period, in micros. */
export async function readKeySpend(
  sql: Sql,
  keyId: string,
  budget: Pick<KeyBudget, 'period'>,
  now: number,
): Promise<number> {
  const period = budgetPeriod(budget, now);
  const [row] = await sql
    .select({ spentMicros: keySpend.spentMicros })
    .from(keySpend)
    .where(and(eq(keySpend.keyId, keyId), eq(keySpend.period, period)));
  return row?.spentMicros ?? sumKeyUsage(sql, keyId, period);
}

/** Sums the cost of a key's calls in a period, in micros. */
export const sumKeyUsage = (sql: Sql, keyId: string, period: string): Promise<number> =>
  sumCosts(sql, period, { records: eq(usageRecords.keyId, keyId), daily: eq(usageDaily.keyId, keyId) });

/** Sums the cost of an organization's calls in a period, in micros. `keyIds`: keys and users to include; null: all. */
export function sumGroupUsage(
  sql: Sql,
  { organizationId, keyIds }: Pick<BudgetRow, 'organizationId' | 'keyIds'>,
  period: string,
): Promise<number> {
  const isCounted = (table: typeof usageRecords | typeof usageDaily) =>
    and(eq(table.organizationId, organizationId), keyIds === null ? undefined : inArray(table.keyId, keyIds));
  return sumCosts(sql, period, { records: isCounted(usageRecords), daily: isCounted(usageDaily) });
}

/** Sums costs from the daily totals and from the usage records after them. */
async function sumCosts(
  sql: Sql,
  period: string,
  isCounted: { records: SQL | undefined; daily: SQL | undefined },
): Promise<number> {
  const start = period === 'total' ? 0 : Date.parse(period);
  const recordsFrom = Math.max(start, (await rolledUpUntil(sql)) ?? start);
  const [recent] = await sql
    .select({ total: sum(usageRecords.costMicros) })
    .from(usageRecords)
    .where(and(isCounted.records, gte(usageRecords.id, firstIdAt(recordsFrom))));
  const days = and(gte(usageDaily.day, toDay(start)), lt(usageDaily.day, toDay(recordsFrom)));
  const [daily] = await sql
    .select({ total: sum(usageDaily.costMicros) })
    .from(usageDaily)
    .where(and(isCounted.daily, days));
  return Number(recent?.total ?? 0) + Number(daily?.total ?? 0);
}

/** Deletes what `readKeySpend` has stored, and revokes leases: for every change of a key's budget. */
export async function forgetKeySpend(sql: Sql, keyId: string): Promise<void> {
  await sql.delete(keySpend).where(eq(keySpend.keyId, keyId));
  await revokeEverywhere(sql, keyId);
}

const toDay = (time: number): string => new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length);
