import type { App } from '../http/app.ts';
import type { CacheCounters } from './cache-counters.ts';
import { CacheStatistics } from './schema.ts';

/** `GET /v1/admin/cache/stats` and `POST /v1/admin/cache/reset`: the operator's, of the whole instance. */
export function promptCacheRoutes(app: App, { promptCache }: { promptCache: CacheCounters }): void {
  const config = { scope: 'admin' } as const;
  const tags = ['Admin'];
  app.get(
    '/v1/admin/cache/stats',
    {
      schema: {
        summary: 'Statistics of the prompt cache',
        description:
          'Of all models and organizations, since this process started or they were last reset. Hits that upstream servers report count too. Needs the scope `admin`.',
        tags,
        response: { 200: CacheStatistics },
      },
      config,
    },
    async () => promptCache.read(),
  );
  app.post(
    '/v1/admin/cache/reset',
    {
      schema: {
        summary: "Reset the prompt cache's statistics",
        description:
          'Counters begin at zero, and the answer is the statistics after it. What is cached stays, so `memory_usage_mb` and `entries` do too. Needs the scope `admin`.',
        tags,
        response: { 200: CacheStatistics },
      },
      config,
    },
    async () => promptCache.reset(),
  );
}
