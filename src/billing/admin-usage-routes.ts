import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { readUsage, usageCsv } from './read-usage.ts';
import { UsagePage, UsageParams } from './schema.ts';

/** `GET /v1/admin/usage`. */
export function adminUsageRoutes(app: App, deps: Pick<Deps, 'db' | 'now'>): void {
  app.get(
    '/v1/admin/usage',
    {
      schema: {
        summary: 'Read the usage of all organizations',
        description:
          'The query parameters of `GET /v1/usage`, for all organizations unless `organization_id` names one. Rows are always grouped by organization. Requires the scope `admin`.',
        tags: ['Admin'],
        querystring: UsageParams,
        response: { 200: UsagePage },
      },
      config: { scope: 'admin' },
    },
    async (request, reply) => {
      const page = await readUsage(deps, toCall(request).caller, { organization_id: 'all', ...request.query });
      if (request.query.format !== 'csv') return page;
      reply.header('content-disposition', 'attachment; filename="usage.csv"').type('text/csv; charset=utf-8');
      return reply.send(usageCsv(page.data) as never);
    },
  );
}
