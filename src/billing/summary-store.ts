import type { Database } from '../db/db.ts';
import type { CallSummary, UsageSummary } from './schema.ts';
import { firstIdAt } from './usage-store.ts';

/** Which calls to summarize. Times are milliseconds since 1970; `end` is exclusive. */
export interface SummaryQuery {
  start: number;
  end: number;
  /** Length of a bucket in seconds. Buckets begin at multiples of it since 1970. */
  bucketSeconds: number;
  /** Null: all organizations. */
  organizationId: string | null;
  /** Null: all models. */
  model: string | null;
}

/**
 * Figures of all calls (`bucket` and `model` are null), of a bucket (Unix seconds), or of a model. Percentiles: 50th
 * and 95th.
 */
interface SummaryRow extends Omit<CallSummary, 'latency_ms' | 'first_token_ms'> {
  bucket: number | null;
  model: string | null;
  latency_ms: number[] | null;
  first_token_ms: number[] | null;
}

const PERCENTILES = 'percentile_cont(array[0.5, 0.95]) within group';

/**
 * One scan of the usage records by their primary key. Batch lines count, but their duration does not: they wait while
 * other requests run.
 */
const SUMMARIZE = `
  with calls as (
    select *, (floor(extract(epoch from created_at) / $4) * $4)::float8 as bucket from usage_records
    where id >= $2 and id < $3 and ($1::text is null or organization_id = $1) and ($5::text is null or model = $5)
  )
  select bucket, model, count(*)::float8 as requests,
    count(*) filter (where outcome = 'failed')::float8 as failed,
    count(*) filter (where outcome = 'cancelled')::float8 as cancelled,
    coalesce(sum(prompt_tokens), 0)::float8 as prompt_tokens, coalesce(sum(cached_tokens), 0)::float8 as cached_tokens,
    coalesce(sum(completion_tokens), 0)::float8 as completion_tokens, coalesce(sum(cost_micros), 0)::float8 as cost_micros,
    count(*) filter (where is_cache_hit)::float8 as cache_hits,
    count(*) filter (where not is_cache_hit)::float8 as cache_misses,
    ${PERCENTILES} (order by duration_ms) filter (where outcome = 'completed' and not is_batch) as latency_ms,
    ${PERCENTILES} (order by first_token_ms) filter (where not is_batch) as first_token_ms
  from calls group by grouping sets ((), (bucket), (model))
  order by bucket nulls first, requests desc, model nulls first`;

/** Summarizes calls: all together, by bucket in order of time, and by model in order of requests. */
export async function summarizeCalls(
  db: Database,
  query: SummaryQuery,
): Promise<Pick<UsageSummary, 'total' | 'buckets' | 'models'>> {
  const { organizationId, start, end, bucketSeconds, model } = query;
  const values = [organizationId, firstIdAt(start), firstIdAt(end), bucketSeconds, model];
  const { rows } = await db.execute(SUMMARIZE, values);
  const groups = (rows as SummaryRow[]).map(({ bucket, model: name, latency_ms, first_token_ms, ...counts }) => {
    const percentiles = { latency_ms: roundPercentiles(latency_ms), first_token_ms: roundPercentiles(first_token_ms) };
    return { bucket, name, figures: { ...counts, ...percentiles } };
  });
  return {
    // The group of all calls comes first, and exists without calls, too.
    total: groups[0]?.figures as CallSummary,
    buckets: groups.flatMap(({ bucket, figures }) => (bucket === null ? [] : [{ start_time: bucket, ...figures }])),
    models: groups.flatMap(({ name, figures }) => (name === null ? [] : [{ model: name, ...figures }])),
  };
}

/** Rounds to whole milliseconds, the precision of the records. */
function roundPercentiles(values: number[] | null): CallSummary['latency_ms'] {
  if (values === null) return null;
  const [p50 = 0, p95 = 0] = values;
  return { p50: Math.round(p50), p95: Math.round(p95) };
}
