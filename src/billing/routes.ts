import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { readUsageSummary } from './read-summary.ts';
import { readUsage, usageCsv } from './read-usage.ts';
import { UsagePage, UsageParams, UsageSummary, UsageSummaryParams } from './schema.ts';

/** `GET /v1/usage` and `GET /v1/usage/summary`. Need no scope. */
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
  app.get(
    '/v1/usage/summary',
    {
      schema: {
        summary: 'Summarize recent calls',
        description:
          'Calls, errors, tokens, cost, prompt cache hits, latency and time to first token of the last hour, day, week or month: in total, by time and by model. Reads the records of single calls, so it reaches back at most `QUIRE_USAGE_RETENTION_DAYS`.',
        tags: ['Usage'],
        querystring: UsageSummaryParams,
        response: { 200: UsageSummary },
      },
    },
    async (request) => readUsageSummary(deps, toCall(request).caller, request.query),
  );
}
