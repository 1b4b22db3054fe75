import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { readUsage, usageCsv } from './read-usage.ts';
import { UsagePage, UsageParams } from './schema.ts';

/** `GET /v1/usage`. Needs no scope. */
export function usageRoutes(app: App, deps: Pick<Deps, 'db' | 'now'>): void {
  app.get(
    '/v1/usage',
    {
      schema: {
        summary: 'Read usage and cost',
        description:
          'Calls, tokens and cost of the organization by hour or day, grouped by model, key or route. `format=csv` returns the same rows as CSV.',
        tags: ['Usage'],
        querystring: UsageParams,
        response: { 200: UsagePage },
      },
    },
    async (request, reply) => {
      const page = await readUsage(deps, toCall(request).caller, request.query);
      if (request.query.format !== 'csv') return page;
      reply.header('content-disposition', 'attachment; filename="usage.csv"').type('text/csv; charset=utf-8');
      return reply.send(usageCsv(page.data) as never);
    },
  );
}
