import type { App } from '../http/app.ts';
import type { PromptCacheStatistics } from './prompt-cache-statistics.ts';
import { CacheStatistics } from './schema.ts';

/** `GET /v1/admin/cache/stats` and `POST /v1/admin/cache/reset`, for the operator of the instance. */
export function promptCacheRoutes(app: App, { promptCache }: { promptCache: PromptCacheStatistics }): void {
  const config = { scope: 'admin' } as const;
  const tags = ['Admin'];
  app.get(
    '/v1/admin/cache/stats',
    {
      schema: {
        summary: 'Statistics of the prompt cache',
        description:
          'Sums over all models, organizations and processes since the last reset, which restarts do not change, including hits reported by upstream servers. Entries, memory and evictions of other processes are up to a second old. Requires the scope `admin`.',
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
        summary: 'Reset the statistics of the prompt cache',
        description:
          'Sets the counters of all processes to zero and returns the statistics. Does not clear the caches: `memory_usage_mb` and `entries` keep their values. Requires the scope `admin`.',
        tags,
        response: { 200: CacheStatistics },
      },
      config,
    },
    async () => promptCache.reset(),
  );
}
