import { api, body } from './client.ts';
import type { paths } from './schema.d.ts';

/** Calls of a bucket of time, by group. */
export type UsageRow = paths['/v1/usage']['get']['responses'][200]['content']['application/json']['data'][number];
export type UsageGroup = 'model' | 'key' | 'route';

/** Sums of usage. */
export interface UsageTotals {
  requests: number;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  cost_micros: number;
}

const DAY_SECONDS = 86_400;
/** Days by groups are few; a page has at most 100 rows. */
const MAX_PAGES = 50;

/** The first second of the UTC day that is `days` - 1 days ago. */
export function startOfPeriod(days: number): number {
  const today = Math.floor(Date.now() / 1000 / DAY_SECONDS) * DAY_SECONDS;
  return today - (days - 1) * DAY_SECONDS;
}

/** Reads the usage of the last days, by day and group. */
export async function readUsage(days: number, group: UsageGroup): Promise<UsageRow[]> {
  const rows: UsageRow[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { start_time: startOfPeriod(days), bucket: 'day' as const, group_by: group, limit: 100, after };
    const { data, has_more, last_id } = await body(api.GET('/v1/usage', { params: { query: query as never } }));
    rows.push(...data);
    if (!has_more || last_id === null) return rows;
    after = last_id;
  }
  return rows;
}

/** Sums rows by a key, largest cost first. */
export function sumBy<K>(rows: readonly UsageRow[], key: (row: UsageRow) => K): [K, UsageTotals][] {
  const sums = new Map<K, UsageTotals>();
  for (const row of rows) {
    const sum = sums.get(key(row)) ?? {
      requests: 0,
      prompt_tokens: 0,
      cached_tokens: 0,
      completion_tokens: 0,
      cost_micros: 0,
    };
    for (const field of Object.keys(sum) as (keyof UsageTotals)[]) sum[field] += row[field];
    sums.set(key(row), sum);
  }
  return [...sums].sort(([, a], [, b]) => b.cost_micros - a.cost_micros || b.requests - a.requests);
}
