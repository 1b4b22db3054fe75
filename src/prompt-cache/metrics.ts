import { Counter, Gauge, type Registry } from 'prom-client';
import type { ModelCacheUsage, ModelRegistry } from '../engines/registry.ts';
import { addCounter } from '../lib/metrics.ts';

/** Prometheus metrics of the prompt cache. */
export interface CacheMetrics {
  countPrompt(model: string, cachedTokens: number): void;
}

/**
 * Registers the prompt cache metrics; call once per registry. Labels are registered model ids, which bounds their
 * number, and never organizations. Gauges are collected at scrape time, and absent while no engine reports them. Models
 * that share an engine share its cache, which has the label of the first of them.
 */
export function registerCacheMetrics(
  registry: Registry,
  models: Pick<ModelRegistry, 'cacheUsageByModel' | 'affinityByModel'>,
): CacheMetrics {
  const registers = [registry];
  const labelNames = ['model'] as const;
  const hits = addCounter(
    registry,
    'quire_prompt_cache_hits_total',
    'Prompts with a prefix read from a cache.',
    labelNames,
  );
  const misses = addCounter(registry, 'quire_prompt_cache_misses_total', 'Prompts without cached prefix.', labelNames);
  const tokens = addCounter(
    registry,
    'quire_prompt_cache_tokens_total',
    'Prompt tokens read from a cache.',
    labelNames,
  );
  const addGauge = (name: string, help: string, value: (usage: ModelCacheUsage) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [model, usage] of models.cacheUsageByModel())
          if (usage.bytes !== null) this.set({ model }, value(usage));
      },
    });
  addGauge('quire_prompt_cache_bytes', 'Memory used by the prefix caches.', ({ bytes }) => bytes ?? 0);
  addGauge('quire_prompt_cache_entries', 'Prefixes in the caches.', ({ entries }) => entries);
  addEvictions(registry, models);
  addAffinity(registry, models);
  return {
    countPrompt: (model, cachedTokens) => {
      (cachedTokens > 0 ? hits : misses).inc({ model });
      tokens.inc({ model }, cachedTokens);
    },
  };
}

/** Exports the eviction counter of the engines. */
function addEvictions(registry: Registry, models: Pick<ModelRegistry, 'cacheUsageByModel'>): void {
  new Counter({
    name: 'quire_prompt_cache_evictions_total',
    help: 'Prefixes evicted from the caches.',
    labelNames: ['model'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [model, { evictions }] of models.cacheUsageByModel()) this.inc({ model }, evictions);
    },
  });
}

/** Exports how upstream engines placed prompts. The counts of a replaced engine start again at 0. */
function addAffinity(registry: Registry, models: Pick<ModelRegistry, 'affinityByModel'>): void {
  new Counter({
    name: 'quire_upstream_prefix_affinity_total',
    help: 'Prompts sent to one of several servers: the prefix was new, went to the server that has it, or moved.',
    labelNames: ['model', 'outcome'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [model, counts] of models.affinityByModel())
        for (const [outcome, count] of Object.entries(counts)) this.inc({ model, outcome }, count);
    },
  });
}
