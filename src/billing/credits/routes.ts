import { OrganizationParams } from '../../accounts/organizations/schema.ts';
import { ListQuery, listSchema } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import {
  adjustCredits,
  type CreditAdminDeps,
  listCreditTransactions,
  readCredits,
  setCredits,
} from './manage-credits.ts';
import { AdjustCredits, CreditTransaction, OrganizationCredits, SetCredits } from './schema.ts';

const tags = ['Admin'];
const config = { scope: 'admin' } as const;
const params = OrganizationParams;
const RIGHTS = 'Requires the scope `admin`.';

/** `/v1/admin/credits`: balances and their transactions. */
export function creditRoutes(app: App, deps: CreditAdminDeps): void {
  app.get(
    '/v1/admin/credits/:organization_id',
    {
      schema: {
        summary: 'Read the credits of an organization',
        description: RIGHTS,
        tags,
        params,
        response: { 200: OrganizationCredits },
      },
      config,
    },
    async (request) => readCredits(deps, request.params.organization_id),
  );
  app.put(
    '/v1/admin/credits/:organization_id',
    {
      schema: {
        summary: 'Set the credits of an organization',
        description: `Null makes them unlimited, as they are at first. A lower balance holds in every process before the response; calls in progress are charged what it covers. ${RIGHTS}`,
        tags,
        params,
        body: SetCredits,
        response: { 200: OrganizationCredits },
      },
      config,
    },
    async (request) => setCredits(deps, toCall(request), request.params.organization_id, request.body),
  );
  transactionRoutes(app, deps);
}

function transactionRoutes(app: App, deps: CreditAdminDeps): void {
  app.post(
    '/v1/admin/credits/:organization_id/transactions',
    {
      schema: {
        summary: 'Add or subtract credit',
        description: `Send an \`Idempotency-Key\`, so that a repeated request adds the credit once. ${RIGHTS}`,
        tags,
        params,
        body: AdjustCredits,
        response: { 200: CreditTransaction },
      },
      config: { ...config, idempotent: true },
    },
    async (request) => adjustCredits(deps, toCall(request), request.params.organization_id, request.body),
  );
  app.get(
    '/v1/admin/credits/:organization_id/transactions',
    {
      schema: {
        summary: 'List the credit transactions of an organization',
        description: `Charges of calls are usage, and not listed. ${RIGHTS}`,
        tags,
        params,
        querystring: ListQuery,
        response: { 200: listSchema(CreditTransaction) },
      },
      config,
    },
    async (request) => listCreditTransactions(deps, request.params.organization_id, request.query),
  );
}
