import type { Registry } from 'prom-client';
import { attributes, type OtlpAttribute } from './otlp-client.ts';

/** Aggregation temporality of counters and histograms: since the start of the process. */
const CUMULATIVE = 2;

interface PromValue {
  value: number;
  labels: Record<string, string | number>;
  metricName?: string;
}

/** Reads the metrics of a registry in the JSON encoding of OTLP. Summaries have no counterpart and are left out. */
export async function readOtlpMetrics(registry: Registry, startedAtMs: number, nowMs: number): Promise<object[]> {
  const times = { startTimeUnixNano: nanoseconds(startedAtMs), timeUnixNano: nanoseconds(nowMs) };
  const metrics = await registry.getMetricsAsJSON();
  return metrics.flatMap(({ name, help, type, values }): object[] => {
    const points = values as PromValue[];
    const described = { name, description: help };
    // prom-client 15 has the type as a text, as its declarations say of a numeric enum.
    const kind = String(type);
    if (kind === 'histogram') {
      const dataPoints = histogramPoints(points, times);
      return [{ ...described, histogram: { aggregationTemporality: CUMULATIVE, dataPoints } }];
    }
    const dataPoints = points.map(({ value, labels }) => ({
      ...times,
      asDouble: value,
      attributes: attributes(labels),
    }));
    if (kind === 'gauge') return [{ ...described, gauge: { dataPoints } }];
    if (kind !== 'counter') return [];
    return [{ ...described, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }];
  });
}

interface HistogramPoint {
  attributes: OtlpAttribute[];
  bounds: number[];
  cumulative: number[];
  sum: number;
  count: number;
}

/** Prometheus has cumulative buckets with a label `le`; OTLP has the count of each bucket, the last one without a bound. */
function histogramPoints(values: readonly PromValue[], times: object): object[] {
  const points = new Map<string, HistogramPoint>();
  for (const { value, labels, metricName = '' } of values) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(rest);
    const point = points.get(key) ?? { attributes: attributes(rest), bounds: [], cumulative: [], sum: 0, count: 0 };
    points.set(key, point);
    if (metricName.endsWith('_sum')) point.sum = value;
    else if (metricName.endsWith('_count')) point.count = value;
    else {
      if (le !== '+Inf') point.bounds.push(Number(le));
      point.cumulative.push(value);
    }
  }
  return [...points.values()].map(({ attributes: labels, bounds, cumulative, sum, count }) => ({
    ...times,
    attributes: labels,
    sum,
    count: String(count),
    explicitBounds: bounds,
    bucketCounts: cumulative.map((value, index) => String(value - (cumulative[index - 1] ?? 0))),
  }));
}

const nanoseconds = (ms: number): string => `${Math.round(ms)}000000`;
