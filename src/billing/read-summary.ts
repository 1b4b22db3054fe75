import type { Deps } from '../deps.ts';
import type { Caller } from '../lib/caller.ts';
import { readBalance } from './credits.ts';
import { selectOrganizationId } from './read-usage.ts';
import type { UsageSummary, UsageSummaryParams } from './schema.ts';
import { summarizeCalls } from './summary-store.ts';

/** Length of each period and of its buckets, in seconds. */
const PERIODS = {
  '1h': { seconds: 3_600, bucketSeconds: 60 },
  '24h': { seconds: 86_400, bucketSeconds: 1_800 },
  '7d': { seconds: 7 * 86_400, bucketSeconds: 10_800 },
  '30d': { seconds: 30 * 86_400, bucketSeconds: 43_200 },
} as const;

/**
 * Summarizes the calls of a period that ends with the current bucket. Callers with the scope `admin` may read every
 * organization; other callers get 403 for organizations other than their own.
 */
export async function readUsageSummary(
  deps: Pick<Deps, 'db' | 'now'>,
  caller: Caller,
  params: UsageSummaryParams,
): Promise<UsageSummary> {
  const { seconds, bucketSeconds } = PERIODS[params.period ?? '24h'];
  const end = (Math.floor(deps.now() / 1000 / bucketSeconds) + 1) * bucketSeconds;
  const start = end - seconds;
  const organizationId = selectOrganizationId(caller, params.organization_id);
  const model = params.model ?? null;
  const [summary, balance] = await Promise.all([
    summarizeCalls(deps.db, { start: start * 1000, end: end * 1000, bucketSeconds, organizationId, model }),
    organizationId === null ? null : readBalance(deps.db.sql, organizationId),
  ]);
  return {
    object: 'usage_summary',
    organization_id: organizationId,
    start_time: start,
    end_time: end,
    bucket_seconds: bucketSeconds,
    balance_micros: balance?.balanceMicros ?? null,
    ...summary,
  };
}
