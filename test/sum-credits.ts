import { and, eq, gte, lt, sum } from 'drizzle-orm';
import { creditTransactions, usageDaily, usageRecords } from '../src/billing/tables.ts';
import { firstIdAt, rolledUpUntil } from '../src/billing/usage-store.ts';
import type { Sql } from '../src/db/db.ts';

/** Sums of an organization, in micros. `transactions - charged` equals the balance, or 0 while it is unlimited. */
export async function sumCredits(sql: Sql, organizationId: string): Promise<{ transactions: number; charged: number }> {
  const recordsFrom = (await rolledUpUntil(sql)) ?? 0;
  const [credits] = await sql
    .select({ total: sum(creditTransactions.amountMicros) })
    .from(creditTransactions)
    .where(eq(creditTransactions.organizationId, organizationId));
  const [recent] = await sql
    .select({ total: sum(usageRecords.chargedMicros) })
    .from(usageRecords)
    .where(and(eq(usageRecords.organizationId, organizationId), gte(usageRecords.id, firstIdAt(recordsFrom))));
  const [daily] = await sql
    .select({ total: sum(usageDaily.chargedMicros) })
    .from(usageDaily)
    .where(
      and(
        eq(usageDaily.organizationId, organizationId),
        lt(usageDaily.day, new Date(recordsFrom).toISOString().slice(0, 'YYYY-MM-DD'.length)),
      ),
    );
  const charged = Number(recent?.total ?? 0) + Number(daily?.total ?? 0);
  return { transactions: Number(credits?.total ?? 0), charged };
}
