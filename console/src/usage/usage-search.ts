import { useMemo } from 'react';
import { MAX_COMPARED_KEYS, MEASURES, type Measure, USAGE_DAYS, USAGE_GROUPS, type UsageGroup } from './usage-rows.ts';

/** Search parameters of the page. `keys`: ids, separated by commas. */
export interface UsageSearch {
  days?: number | undefined;
  group?: UsageGroup | undefined;
  keys?: string | undefined;
  measure?: Measure | undefined;
}

const KEYS = /^[a-z0-9_-]{1,64}(,[a-z0-9_-]{1,64})*$/;

/** Drops parameters that are not valid. */
export function parseUsageSearch(search: Record<string, unknown>): UsageSearch {
  const pick = <T>(values: readonly T[], value: unknown) => values.find((one) => one === value);
  const { keys } = search;
  return {
    days: pick(USAGE_DAYS, search['days']),
    group: pick(USAGE_GROUPS, search['group']),
    keys: typeof keys === 'string' && KEYS.test(keys) ? keys : undefined,
    measure: pick(MEASURES, search['measure']),
  };
}

/** The parameters with their defaults. */
export function useUsageQuery({ days = 30, group = 'model', keys: list = '', measure = 'requests' }: UsageSearch) {
  return useMemo(() => {
    const keys = list === '' ? [] : list.split(',').slice(0, MAX_COMPARED_KEYS);
    return { days, group, keys, measure, filter: keys.length === 0 ? {} : { key_id: keys.join(',') } };
  }, [days, group, list, measure]);
}
