import { Counter, Gauge, type Registry } from 'prom-client';

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

/** Returns a function that calls `register` once per registry, on first use: a registry holds each metric once. */
export function oncePerRegistry<Metrics>(register: (registry: Registry) => Metrics): (registry: Registry) => Metrics {
  const registered = new WeakMap<Registry, { metrics: Metrics }>();
  return (registry) => {
    const entry = registered.get(registry) ?? { metrics: register(registry) };
    registered.set(registry, entry);
    return entry.metrics;
  };
}
