import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';

interface PromValue {
  value: number;
  labels: Record<string, string | number>;
  metricName?: string;
}

interface Period {
  startTime: HrTime;
  endTime: HrTime;
}

/** Produces the metrics of a Prometheus registry for the SDK. Summaries have no counterpart and are left out. */
export function registryMetrics(registry: Registry): MetricProducer {
  const startTime = millisToHrTime(Date.now());
  return {
    collect: async () => {
      const metrics = await readMetrics(registry, { startTime, endTime: millisToHrTime(Date.now()) });
      const scopeMetrics = [{ scope: { name: 'quire' }, metrics }];
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
    },
  };
}

async function readMetrics(registry: Registry, period: Period): Promise<MetricData[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.flatMap(({ name, help, type, values }): MetricData[] => {
    const points = values as PromValue[];
    const data = {
      descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    // prom-client 15 has the type as a text, although it declares a numeric enum.
    const kind = String(type);
    if (kind === 'histogram') {
      return [{ ...data, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramPoints(points, period) }];
    }
    const dataPoints = points.map(({ value, labels }) => ({ ...period, value, attributes: labels }));
    if (kind === 'gauge') return [{ ...data, dataPointType: DataPointType.GAUGE, dataPoints }];
    if (kind !== 'counter') return [];
    return [{ ...data, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  });
}

interface Series {
  attributes: Attributes;
  boundaries: number[];
  cumulative: number[];
  sum: number;
  count: number;
}

/** Prometheus has cumulative buckets labelled `le`; OTLP has the count of each bucket, the last without a bound. */
function histogramPoints(values: readonly PromValue[], period: Period): DataPoint<Histogram>[] {
  const series = new Map<string, Series>();
  for (const { value, labels, metricName = '' } of values) {
    const { le, ...attributes } = labels;
    const key = JSON.stringify(attributes);
    const point = series.get(key) ?? { attributes, boundaries: [], cumulative: [], sum: 0, count: 0 };
    series.set(key, point);
    if (metricName.endsWith('_sum')) point.sum = value;
    else if (metricName.endsWith('_count')) point.count = value;
    else {
      if (le !== '+Inf') point.boundaries.push(Number(le));
      point.cumulative.push(value);
    }
  }
  return [...series.values()].map(({ attributes, boundaries, cumulative, sum, count }) => {
    const counts = cumulative.map((value, index) => value - (cumulative[index - 1] ?? 0));
    return { ...period, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}
