import type { App } from '../http/app.ts';
import { CacheStatistics } from './schema.ts';

/** The statistics that the routes return: of all processes, or of one in tests. */
export interface StatisticsSource {
  read(): CacheStatistics | Promise<CacheStatistics>;
  reset(): CacheStatistics | Promise<CacheStatistics>;
}

/** `GET /v1/admin/cache/stats` and `POST /v1/admin/cache/reset`, for the operator of the instance. */
export function promptCacheRoutes(app: App, { promptCache }: { promptCache: StatisticsSource }): void {
  const config = { scope: 'admin' } as const;
  const tags = ['Admin'];
  app.get(
    '/v1/admin/cache/stats',
    {
      schema: {
        summary: 'Statistics of the prompt cache',
        description:
          'Sums over all models, organizations and running processes, since their start or the last reset, including hits reported by upstream servers. Counts of other processes are up to a second old. Requires the scope `admin`.',
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
