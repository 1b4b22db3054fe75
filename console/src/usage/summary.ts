import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { SUMMARY_PERIODS } from '../api/address-values.ts';
import { api, body, pollEvery } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';

/** Figures of the calls of a period. */
export type Summary = Schema<'UsageSummary'>;
/** Figures of calls in a period. */
export type Figures = Summary['total'];

/** A period that ends now. */
export type Period = (typeof SUMMARY_PERIODS)[number];

/** The period of a search parameter; a day unless it is valid. */
export const toPeriod = (value: unknown): Period => SUMMARY_PERIODS.find((period) => period === value) ?? '24h';

/** Milliseconds between reads; long periods change slowly. */
const REFRESH_MS: Readonly<Record<Period, number>> = { '1h': 5_000, '24h': 15_000, '7d': 60_000, '30d': 60_000 };

/** The calls of a period, read again while the page is shown. `isInstance`: of all organizations. */
export function useSummary(
  period: Period,
  { model, isInstance = false }: { model?: string; isInstance?: boolean } = {},
) {
  const { organization } = useSession();
  const query = { period, ...(model !== undefined && { model }), ...(isInstance && { organization_id: 'all' }) };
  return useQuery({
    queryKey: ['usage-summary', isInstance ? 'all' : organization.id, period, model],
    queryFn: () => body(api.GET('/v1/usage/summary', { params: { query } })),
    refetchInterval: pollEvery(REFRESH_MS[period]),
    placeholderData: keepPreviousData,
  });
}

/** The starts of all buckets, and a reader of figures that fills the absent ones. */
export function toColumns(summary: Summary) {
  const { start_time, end_time, bucket_seconds, buckets } = summary;
  const byTime = new Map(buckets.map((bucket) => [bucket.start_time, bucket]));
  const count = (end_time - start_time) / bucket_seconds;
  const times = Array.from({ length: count }, (_, index) => start_time + index * bucket_seconds);
  return {
    times,
    /** A sum: 0 without calls. */
    sums: (read: (figures: Figures) => number) =>
      times.map((time) => {
        const bucket = byTime.get(time);
        return bucket === undefined ? 0 : read(bucket);
      }),
    /** A measurement: null without calls. */
    measurements: (read: (figures: Figures) => number | null | undefined) =>
      times.map((time) => {
        const bucket = byTime.get(time);
        return bucket === undefined ? null : (read(bucket) ?? null);
      }),
  };
}

/** Share of prompts with a cached prefix; null without a prompt. */
export const hitRate = ({ cache_hits, cache_misses }: Figures): number | null =>
  cache_hits + cache_misses === 0 ? null : cache_hits / (cache_hits + cache_misses);
