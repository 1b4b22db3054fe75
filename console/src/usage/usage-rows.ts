import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import type { Schema } from '../api/types.ts';

type UsageQuery = NonNullable<paths['/v1/usage']['get']['parameters']['query']>;
/** Calls of a bucket of time, by group. */
export type UsageRow = Schema<'UsageBucket'>;

/** What usage can be grouped by, and the days that can be shown. */
export const USAGE_GROUPS = ['model', 'key', 'route'] as const;
/** What usage is summed by. */
export type UsageGroup = (typeof USAGE_GROUPS)[number];
export const USAGE_DAYS = [7, 30, 90] as const;
/** What a chart of usage shows. */
export const MEASURES = ['requests', 'tokens', 'cost'] as const;
/** What a chart of usage shows. */
export type Measure = (typeof MEASURES)[number];
/** Keys that a chart compares. */
export const MAX_COMPARED_KEYS = 4;

export const DAY_SECONDS = 86_400;

/** The first second of the UTC day that is `days` - 1 days ago. */
export function startOfPeriod(days: number): number {
  const today = Math.floor(Date.now() / 1000 / DAY_SECONDS) * DAY_SECONDS;
  return today - (days - 1) * DAY_SECONDS;
}

/** Reads a page of usage of the last days. */
export const readUsage = (days: number, query: UsageQuery) =>
  body(api.GET('/v1/usage', { params: { query: { start_time: startOfPeriod(days), ...query } } }));

/** The usage of a period as CSV: rows by day and group. */
export function csvLink(days: number, group: UsageGroup, keys: readonly string[]): string {
  const query = new URLSearchParams({
    format: 'csv',
    bucket: 'day',
    group_by: group,
    start_time: String(startOfPeriod(days)),
    limit: '10000',
    ...(keys.length > 0 && { key_id: keys.join(',') }),
  });
  return `/v1/usage?${query}`;
}
