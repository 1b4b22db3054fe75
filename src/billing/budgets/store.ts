import { and, eq, sql as fragment, isNull } from 'drizzle-orm';
import { organizations } from '../../accounts/tables.ts';
import type { Sql } from '../../db/db.ts';
import { type PageBounds, pageOrder } from '../../db/page.ts';
import { keySpend } from '../tables.ts';
import { budgets } from './tables.ts';

/** A row of `budgets`. */
export type BudgetRow = typeof budgets.$inferSelect;

const isBudget = (organizationId: string, id: string) =>
  and(eq(budgets.organizationId, organizationId), eq(budgets.id, id));

/** Inserts a budget. */
export async function insertBudget(sql: Sql, row: BudgetRow): Promise<void> {
  await sql.insert(budgets).values(row);
}

/** Counts the organization's budgets. */
export async function countBudgets(sql: Sql, organizationId: string): Promise<number> {
  return sql.$count(budgets, eq(budgets.organizationId, organizationId));
}

/** Selects a page of the organization's budgets. */
export function selectBudgets(sql: Sql, organizationId: string, bounds: PageBounds): Promise<BudgetRow[]> {
  const { isAfter, orderBy } = pageOrder(budgets.id, bounds);
  return sql
    .select()
    .from(budgets)
    .where(and(eq(budgets.organizationId, organizationId), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects the budgets of all organizations that are not deleted. */
export async function selectAllBudgets(sql: Sql): Promise<BudgetRow[]> {
  const rows = await sql
    .select({ budget: budgets })
    .from(budgets)
    .innerJoin(organizations, eq(organizations.id, budgets.organizationId))
    .where(isNull(organizations.deletedAt));
  return rows.map(({ budget }) => budget);
}

/** Selects a budget of the organization and locks it until the transaction ends. Returns null if it does not exist. */
export async function lockBudget(sql: Sql, organizationId: string, id: string): Promise<BudgetRow | null> {
  const [row] = await sql.select().from(budgets).where(isBudget(organizationId, id)).for('update');
  return row ?? null;
}

/** Selects a budget by id, or null. */
export async function selectBudget(sql: Sql, id: string): Promise<BudgetRow | null> {
  const [row] = await sql.select().from(budgets).where(eq(budgets.id, id));
  return row ?? null;
}

/** Updates a budget. */
export async function updateBudgetRow(sql: Sql, { id, ...fields }: BudgetRow): Promise<void> {
  await sql.update(budgets).set(fields).where(eq(budgets.id, id));
}

/** Deletes a budget. */
export async function deleteBudgetRow(sql: Sql, id: string): Promise<void> {
  await sql.delete(budgets).where(eq(budgets.id, id));
}

/** Deletes the budgets of an organization. */
export async function deleteBudgetsOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(budgets).where(eq(budgets.organizationId, organizationId));
}

/** Deletes the cached spend of a budget. The next call computes it from the usage. */
export async function deleteBudgetSpend(sql: Sql, id: string): Promise<void> {
  await sql.delete(keySpend).where(eq(keySpend.keyId, id));
}

/** Selects the enforced budgets that apply to a key or user. */
export async function selectEnforcedBudgets(
  sql: Sql,
  organizationId: string,
  keyId: string,
): Promise<Pick<BudgetRow, 'id' | 'name'>[]> {
  const isCounted = fragment`(${budgets.keyIds} is null or ${keyId} = any(${budgets.keyIds}))`;
  return sql
    .select({ id: budgets.id, name: budgets.name })
    .from(budgets)
    .where(and(eq(budgets.organizationId, organizationId), eq(budgets.isEnforced, true), isCounted))
    .orderBy(budgets.id);
}

/** Filters the ids to keys and members of the organization. */
export async function selectKeyAndMemberIds(
  sql: Sql,
  organizationId: string,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = (await sql.execute(fragment`
    select id from api_keys where organization_id = ${organizationId} and id in ${ids}
    union select user_id from members where organization_id = ${organizationId} and user_id in ${ids}`)) as unknown as {
    rows: { id: string }[];
  };
  return rows.map(({ id }) => id);
}
