import { Counter, Gauge, type Registry } from 'prom-client';
import type { CacheUsage } from '../engines/engine.ts';
import type { ModelRegistry } from '../engines/registry.ts';

/** Prometheus metrics of the prompt cache. */
export interface CacheMetrics {
  countPrompt(model: string, cachedTokens: number): void;
}

/**
 * Registers the prompt cache metrics; call once per registry. Labels are registered model ids, which bounds their number, and never
 * organizations. Gauges are collected at scrape time, and absent while no engine reports them.
 */
export function registerCacheMetrics(registry: Registry, models: Pick<ModelRegistry, 'cacheUsage'>): CacheMetrics {
  const registers = [registry];
  const labelNames = ['model'] as const;
  const hits = new Counter({
    name: 'quire_prompt_cache_hits_total',
    help: 'Prompts with a prefix read from a cache.',
    labelNames,
    registers,
  });
  const misses = new Counter({
    name: 'quire_prompt_cache_misses_total',
    help: 'Prompts without cached prefix.',
    labelNames,
    registers,
  });
  const tokens = new Counter({
    name: 'quire_prompt_cache_tokens_total',
    help: 'Prompt tokens read from a cache.',
    labelNames,
    registers,
  });
  const addGauge = (name: string, help: string, value: (usage: CacheUsage) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const usage = models.cacheUsage();
        if (usage === null) this.remove();
        else this.set(value(usage));
      },
    });
  addGauge('quire_prompt_cache_bytes', 'Memory used by the prefix caches.', ({ bytes }) => bytes);
  addGauge('quire_prompt_cache_entries', 'Prefixes in the caches.', ({ entries }) => entries);
  addEvictions(registry, models);
  return {
    countPrompt: (model, cachedTokens) => {
      (cachedTokens > 0 ? hits : misses).inc({ model });
      tokens.inc({ model }, cachedTokens);
    },
  };
}

/** Exports the eviction counter of the engines. */
function addEvictions(registry: Registry, models: Pick<ModelRegistry, 'cacheUsage'>): void {
  new Counter({
    name: 'quire_prompt_cache_evictions_total',
    help: 'Prefixes evicted from the caches.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(models.cacheUsage()?.evictions ?? 0);
    },
  });
}
