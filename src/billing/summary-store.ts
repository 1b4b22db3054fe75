import type { Database } from '../db/db.ts';
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

/** Figures of the calls of a group. Percentiles are null without a call to measure. */
export interface CallFigures {
  requests: number;
  failed: number;
  cancelled: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  costMicros: number;
  /** Processed prompts of generations, with and without a cached prefix. */
  cacheHits: number;
  cacheMisses: number;
  /** 50th and 95th percentile of completed calls, in milliseconds. */
  latencyMs: readonly [number, number] | null;
  firstTokenMs: readonly [number, number] | null;
}

/** Figures of all calls (`bucket` and `model` are null), of a bucket (Unix seconds), or of a model. */
export interface SummaryGroup extends CallFigures {
  bucket: number | null;
  model: string | null;
}

const PERCENTILES = 'percentile_cont(array[0.5, 0.95]) within group';

/**
 * One scan of the usage records by their primary key. Batch lines count, but their duration does not: they wait while other requests run.
 */
const SUMMARIZE = `
  with calls as (
    select *, floor(extract(epoch from created_at) / $4)::bigint * $4 as bucket from usage_records
    where id >= $2 and id < $3 and ($1::text is null or organization_id = $1) and ($5::text is null or model = $5)
  )
  select bucket, model, count(*) as requests,
    count(*) filter (where outcome = 'failed') as failed, count(*) filter (where outcome = 'cancelled') as cancelled,
    coalesce(sum(prompt_tokens), 0) as prompt_tokens, coalesce(sum(cached_tokens), 0) as cached_tokens,
    coalesce(sum(completion_tokens), 0) as completion_tokens, coalesce(sum(cost_micros), 0) as cost_micros,
    count(*) filter (where is_cache_hit) as cache_hits, count(*) filter (where not is_cache_hit) as cache_misses,
    ${PERCENTILES} (order by duration_ms) filter (where outcome = 'completed' and not is_batch) as latency_ms,
    ${PERCENTILES} (order by first_token_ms) filter (where not is_batch) as first_token_ms
  from calls group by grouping sets ((), (bucket), (model))
  order by bucket nulls first, requests desc, model nulls first`;

/** Summarizes calls: all together, by bucket in order of time, and by model in order of requests. */
export async function summarizeCalls(db: Database, query: SummaryQuery): Promise<SummaryGroup[]> {
  const { organizationId, start, end, bucketSeconds, model } = query;
  const values = [organizationId, firstIdAt(start), firstIdAt(end), bucketSeconds, model];
  const { rows } = await db.execute(SUMMARIZE, values);
  return (rows as Record<string, unknown>[]).map(toGroup);
}

function toGroup(row: Record<string, unknown>): SummaryGroup {
  return {
    bucket: row['bucket'] === null ? null : Number(row['bucket']),
    model: typeof row['model'] === 'string' ? row['model'] : null,
    requests: Number(row['requests']),
    failed: Number(row['failed']),
    cancelled: Number(row['cancelled']),
    promptTokens: Number(row['prompt_tokens']),
    cachedTokens: Number(row['cached_tokens']),
    completionTokens: Number(row['completion_tokens']),
    costMicros: Number(row['cost_micros']),
    cacheHits: Number(row['cache_hits']),
    cacheMisses: Number(row['cache_misses']),
    latencyMs: toPercentiles(row['latency_ms']),
    firstTokenMs: toPercentiles(row['first_token_ms']),
  };
}

/** Rounds to whole milliseconds, the precision of the records. */
function toPercentiles(value: unknown): [number, number] | null {
  if (!Array.isArray(value)) return null;
  const [p50, p95] = value as number[];
  return [Math.round(Number(p50)), Math.round(Number(p95))];
}
