import { lockOrganization } from '../../accounts/store.ts';
import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { findRow } from '../../db/find-row.ts';
import { notify } from '../../db/notifications.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { awaitRevocations, revokeEverywhere } from '../revoke-leases.ts';
import { sumUsage } from '../usage-store.ts';
import { findMonth, forecastMonth } from './forecast.ts';
import type { BudgetResource, CreateBudget, UpdateBudget } from './schema.ts';
import {
  type BudgetRow,
  countBudgets,
  deleteBudgetRow,
  deleteBudgetSpend,
  insertBudget,
  lockBudget,
  selectBudgets,
  selectKeyAndMemberIds,
  updateBudgetRow,
} from './store.ts';

/** Maximum number of budgets per organization. Each call is checked against every enforced budget. */
const MAX_BUDGETS = 50;
const DEFAULT_THRESHOLDS = [50, 80, 100];
/** Upper bound of the days of a month. */
const MAX_DAYS = 40;

/** Dependencies of the management of budgets. */
export type BudgetDeps = Pick<Deps, 'db' | 'now'>;

/** Creates a budget. Throws 400 naming the field, also for ids that do not belong to the organization. */
export async function createBudget(deps: BudgetDeps, call: Call, body: CreateBudget): Promise<BudgetResource> {
  const { organizationId } = call.caller;
  const now = new Date(deps.now());
  const row: BudgetRow = {
    id: newId('budget'),
    organizationId,
    name: body.name,
    keyIds: body.key_ids ?? null,
    amountMicros: body.amount_micros,
    thresholds: (body.thresholds ?? DEFAULT_THRESHOLDS).toSorted((a, b) => a - b),
    isEnforced: body.enforced ?? false,
    createdAt: now,
    updatedAt: now,
  };
  await deps.db.sql.transaction(async (sql) => {
    await lockOrganization(sql, organizationId);
    await requireKeysAndMembers(sql, row);
    if ((await countBudgets(sql, organizationId)) >= MAX_BUDGETS)
      throw invalidValue('name', `cannot be added: ${MAX_BUDGETS} budgets exist; delete a budget first`);
    await insertBudget(sql, row);
    if (row.isEnforced) await revokeEverywhere(sql, organizationId);
    const changes = changedValues({}, properties(row));
    await recordChange(sql, toActor(call), { action: 'budget.created', organizationId, resourceId: row.id, changes });
  });
  if (row.isEnforced) await awaitRevocations(deps.db.sql, organizationId);
  return viewBudget(deps, row);
}

/** Lists the organization's budgets with their spend and forecast. */
export async function listBudgets(deps: BudgetDeps, { caller }: Call, query: ListQuery) {
  const bounds = pageBounds(query, 'budget');
  const rows = await selectBudgets(deps.db.sql, caller.organizationId, bounds);
  const shown = page(rows, bounds.limit);
  return { ...shown, data: await Promise.all(shown.data.map((row) => viewBudget(deps, row))) };
}

/**
 * Changes the fields that are present in `body`. Once the promise resolves, no process admits calls under the previous
 * amount. Throws 404 `budget_not_found`, and the errors of `createBudget`.
 */
export async function updateBudget(
  deps: BudgetDeps,
  call: Call,
  id: string,
  body: UpdateBudget,
): Promise<BudgetResource> {
  const { organizationId } = call.caller;
  const changed = await deps.db.sql.transaction(async (sql) => {
    const row = await findRow('budget', id, 'budget_id', () => lockBudget(sql, organizationId, id));
    const after: BudgetRow = {
      ...row,
      name: body.name ?? row.name,
      keyIds: body.key_ids === undefined ? row.keyIds : body.key_ids,
      amountMicros: body.amount_micros ?? row.amountMicros,
      thresholds: body.thresholds?.toSorted((a, b) => a - b) ?? row.thresholds,
      isEnforced: body.enforced ?? row.isEnforced,
      updatedAt: new Date(deps.now()),
    };
    if (body.key_ids !== undefined) await requireKeysAndMembers(sql, after);
    await updateBudgetRow(sql, after);
    await deleteBudgetSpend(sql, id);
    if (after.isEnforced) await revokeEverywhere(sql, organizationId);
    else await notify(sql, 'quire_api_keys', organizationId);
    const changes = changedValues(properties(row), properties(after));
    await recordChange(sql, toActor(call), { action: 'budget.updated', organizationId, resourceId: id, changes });
    return after;
  });
  if (changed.isEnforced) await awaitRevocations(deps.db.sql, organizationId);
  return viewBudget(deps, changed);
}

/** Deletes a budget. Throws 404 `budget_not_found`. */
export async function deleteBudget({ db }: BudgetDeps, call: Call, id: string) {
  const { organizationId } = call.caller;
  await db.sql.transaction(async (sql) => {
    const row = await findRow('budget', id, 'budget_id', () => lockBudget(sql, organizationId, id));
    await deleteBudgetRow(sql, id);
    await deleteBudgetSpend(sql, id);
    await notify(sql, 'quire_api_keys', organizationId);
    const changes = [{ field: 'name', from: row.name }];
    await recordChange(sql, toActor(call), { action: 'budget.deleted', organizationId, resourceId: id, changes });
  });
  return { id, object: 'budget', deleted: true } as const;
}

async function requireKeysAndMembers(sql: Sql, { organizationId, keyIds }: BudgetRow): Promise<void> {
  if (keyIds === null) return;
  // PostgreSQL rejects NUL in text.
  const counted = new Set(
    keyIds.some((id) => id.includes('\u0000')) ? [] : await selectKeyAndMemberIds(sql, organizationId, keyIds),
  );
  const index = keyIds.findIndex((id) => !counted.has(id));
  if (index !== -1) throw invalidValue(`key_ids.${index}`, 'must be the id of a key or member of your organization');
}

const properties = ({ name, keyIds, amountMicros, thresholds, isEnforced }: BudgetRow) => ({
  name,
  key_ids: keyIds,
  amount_micros: amountMicros,
  thresholds,
  enforced: isEnforced,
});

/** Returns the spend of a budget in a month by day. */
export async function readBudgetDays(
  { db, now }: BudgetDeps,
  { organizationId, keyIds }: Pick<BudgetRow, 'organizationId' | 'keyIds'>,
) {
  const query = { ...findMonth(now()), bucket: 'day', groups: [], offset: 0, limit: MAX_DAYS } as const;
  const sums = await sumUsage(db, { ...query, organizationId, keyIds });
  return sums.map(({ start, cost_micros }) => ({ start, costMicros: cost_micros }));
}

async function viewBudget(deps: BudgetDeps, row: BudgetRow): Promise<BudgetResource> {
  const { start, end } = findMonth(deps.now());
  const days = await readBudgetDays(deps, row);
  return {
    id: row.id,
    object: 'budget',
    ...properties(row),
    period_start: start / 1000,
    period_end: end / 1000,
    spent_micros: days.reduce((total, { costMicros }) => total + costMicros, 0),
    forecast_micros: forecastMonth(days, deps.now()),
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}
