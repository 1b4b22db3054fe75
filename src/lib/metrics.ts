import {
  AggregatorRegistry,
  Counter,
  Gauge,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from 'prom-client';
import { ReadCache } from './read-cache.ts';
import { rejectOnAbort } from './reject-on-abort.ts';

/** Time for which gauges share the result of a query. */
const QUERY_TTL_MS = 2_000;
/** Shorter than the time limit of a scrape: without the database, a scrape returns the other metrics. */
const QUERY_TIMEOUT_MS = 3_000;

/** Registers a counter with the names of its labels. */
export function addCounter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Counter<Label> {
  return new Counter({ name, help, labelNames, registers: [registry] });
}

/** Registers a gauge with the names of its labels. */
export function addGauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [registry] });
}

/** A value of a gauge with labels. */
export interface Sample<Label extends string> {
  labels: Record<Label, string>;
  value: number;
}

/** Registers a gauge with one value, which is read at every scrape. */
export function addReadGauge(registry: Registry, name: string, help: string, read: () => number): void {
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) });
}

/** Registers a gauge whose samples are read at every scrape. The gauge has none when they cannot be read. */
export function addSampledGauge<Label extends string>(
  registry: Registry,
  { name, help, labelNames }: { name: string; help: string; labelNames: readonly Label[] },
  read: () => readonly Sample<Label>[] | Promise<readonly Sample<Label>[]>,
): void {
  const collect = async (): Promise<void> => {
    let samples: readonly Sample<Label>[] = [];
    try {
      samples = await read();
    } finally {
      gauge.reset();
      for (const { labels, value } of samples) gauge.set(labels, value);
    }
  };
  const gauge: Gauge<Label> = new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect: () => collect().catch(() => {}),
  });
}

/** Returns a function that runs a query for the gauges that share it, once per scrape and for a limited time. */
export function shareQuery<Value>(query: () => Promise<Value>): () => Promise<Value> {
  const cache = new ReadCache<Value>({ ttlMs: QUERY_TTL_MS, maxEntries: 1, now: Date.now });
  return async () => cache.get('', () => rejectOnAbort(query(), AbortSignal.timeout(QUERY_TIMEOUT_MS)));
}

/** Returns a function that calls `register` once per registry, on first use: a registry holds each metric once. */
export function oncePerRegistry<Metrics>(register: (registry: Registry) => Metrics): (registry: Registry) => Metrics {
  const registered = new WeakMap<Registry, { metrics: Metrics }>();
  return (registry) => {
    const entry = registered.get(registry) ?? { metrics: register(registry) };
    registered.set(registry, entry);
    return entry.metrics;
  };
}

/** The metrics of one process, as plain data. */
export type MetricsSnapshot = MetricObjectWithValues<MetricValue<string>>[];

/** Reads the metrics of a registry. */
export async function readSnapshot(registry: Registry): Promise<MetricsSnapshot> {
  return registry.getMetricsAsJSON();
}

/** Writes the metrics of several processes in the format of Prometheus. A label tells the processes apart. */
export function renderSnapshots(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  // The labels differ, so that nothing is added up. prom-client leaves out metrics with the aggregator `omit`.
  const families = snapshots.map((snapshot) => snapshot.map((family) => ({ ...family, aggregator: 'first' as const })));
  return AggregatorRegistry.aggregate(families).metrics();
}
