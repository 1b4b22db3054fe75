import { ListQuery, listSchema } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { type BudgetDeps, createBudget, deleteBudget, listBudgets, updateBudget } from './manage-budgets.ts';
import { BudgetParams, BudgetResource, CreateBudget, DeletedBudget, UpdateBudget } from './schema.ts';

const tags = ['Alerts'];
const config = { scope: 'keys' } as const;
const params = BudgetParams;
const response = { 200: BudgetResource };

/** `/v1/budgets`: monthly budgets of the organization and of groups of keys and members. */
export function budgetRoutes(app: App, deps: BudgetDeps): void {
  app.post(
    '/v1/budgets',
    {
      schema: {
        summary: 'Create a budget',
        description:
          'A budget applies to a calendar month (UTC) and to the organization or a group of keys and members. Reaching a threshold raises an alert. If the budget is enforced, calls that could exceed it are rejected, also when several processes serve them.',
        tags,
        body: CreateBudget,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createBudget(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/budgets',
    {
      schema: {
        summary: 'List the budgets',
        description: 'Returns each budget with its spend this month and a forecast for the whole month.',
        tags,
        querystring: ListQuery,
        response: { 200: listSchema(BudgetResource) },
      },
      config,
    },
    async (request) => listBudgets(deps, toCall(request), request.query),
  );
  app.patch(
    '/v1/budgets/:budget_id',
    {
      schema: {
        summary: 'Change a budget',
        description: 'After the response, no process admits calls under the previous amount.',
        tags,
        params,
        body: UpdateBudget,
        response,
      },
      config,
    },
    async (request) => updateBudget(deps, toCall(request), request.params.budget_id, request.body),
  );
  app.delete(
    '/v1/budgets/:budget_id',
    { schema: { summary: 'Delete a budget', tags, params, response: { 200: DeletedBudget } }, config },
    async (request) => deleteBudget(deps, toCall(request), request.params.budget_id),
  );
}
