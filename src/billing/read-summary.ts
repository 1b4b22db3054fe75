import type { Deps } from '../deps.ts';
import type { Caller } from '../lib/caller.ts';
import { readBalance } from './credits.ts';
import { selectOrganizationId } from './read-usage.ts';
import type { CallSummary, UsageSummary, UsageSummaryParams } from './schema.ts';
import { type CallFigures, summarizeCalls } from './summary-store.ts';

/** Length of each period and of its buckets, in seconds. */
const PERIODS = {
  '1h': { seconds: 3_600, bucketSeconds: 60 },
  '24h': { seconds: 86_400, bucketSeconds: 1_800 },
  '7d': { seconds: 7 * 86_400, bucketSeconds: 10_800 },
  '30d': { seconds: 30 * 86_400, bucketSeconds: 43_200 },
} as const;

/**
 * Summarizes the calls of a period that ends with the current bucket: those of the caller's organization or, with the scope `admin`, of
 * others. Throws 403 for other organizations.
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
  const [groups, balance] = await Promise.all([
    summarizeCalls(deps.db, { start: start * 1000, end: end * 1000, bucketSeconds, organizationId, model }),
    organizationId === null ? null : readBalance(deps.db.sql, organizationId),
  ]);
  const total = groups.find((group) => group.bucket === null && group.model === null);
  return {
    object: 'usage_summary',
    organization_id: organizationId,
    start_time: start,
    end_time: end,
    bucket_seconds: bucketSeconds,
    balance_micros: balance?.balanceMicros ?? null,
    total: viewFigures(total ?? NO_CALLS),
    buckets: groups.flatMap(({ bucket, ...figures }) =>
      bucket === null ? [] : [{ start_time: bucket, ...viewFigures(figures) }],
    ),
    models: groups.flatMap(({ model: name, ...figures }) =>
      name === null ? [] : [{ model: name, ...viewFigures(figures) }],
    ),
  };
}

const NO_CALLS: CallFigures = {
  requests: 0,
  failed: 0,
  cancelled: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  costMicros: 0,
  cacheHits: 0,
  cacheMisses: 0,
  latencyMs: null,
  firstTokenMs: null,
};

function viewFigures(figures: CallFigures): CallSummary {
  const percentiles = (values: CallFigures['latencyMs']) =>
    values === null ? null : { p50: values[0], p95: values[1] };
  return {
    requests: figures.requests,
    failed: figures.failed,
    cancelled: figures.cancelled,
    prompt_tokens: figures.promptTokens,
    cached_tokens: figures.cachedTokens,
    completion_tokens: figures.completionTokens,
    cost_micros: figures.costMicros,
    cache_hits: figures.cacheHits,
    cache_misses: figures.cacheMisses,
    latency_ms: percentiles(figures.latencyMs),
    first_token_ms: percentiles(figures.firstTokenMs),
  };
}
