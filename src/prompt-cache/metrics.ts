import { Counter, Gauge, type Registry } from 'prom-client';
import type { CacheUsage } from '../engines/engine.ts';
import type { ModelRegistry } from '../engines/registry.ts';

/** What the operator sees of the prompt cache at `/metrics`. */
export interface CacheMetrics {
  counted(model: string, cachedTokens: number): void;
}

/**
 * Makes the prompt cache's metrics in a registry, which must not have them yet. Labels are model ids of the registry, so
 * they are bounded, and never an organization: what one caches is not for another to see. What the caches hold is asked
 * for when it is scraped, and left out while no engine says it.
 */
export function cacheMetrics(registry: Registry, models: Pick<ModelRegistry, 'cacheUsage'>): CacheMetrics {
  const registers = [registry];
  const labelNames = ['model'] as const;
  const hits = new Counter({
    name: 'quire_prompt_cache_hits_total',
    help: 'Prompts of which a prefix came from a cache.',
    labelNames,
    registers,
  });
  const misses = new Counter({
    name: 'quire_prompt_cache_misses_total',
    help: 'Prompts that were processed whole.',
    labelNames,
    registers,
  });
  const tokens = new Counter({
    name: 'quire_prompt_cache_tokens_total',
    help: 'Prompt tokens that came from a cache.',
    labelNames,
    registers,
  });
  const told = (name: string, help: string, value: (usage: CacheUsage) => number) =>
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
  told('quire_prompt_cache_bytes', 'Memory that the prefix caches take.', ({ bytes }) => bytes);
  told('quire_prompt_cache_entries', 'Prefixes that the caches keep.', ({ entries }) => entries);
  addEvictions(registry, models);
  return {
    counted: (model, cachedTokens) => {
      (cachedTokens > 0 ? hits : misses).inc({ model });
      tokens.inc({ model }, cachedTokens);
    },
  };
}

/** A counter that the engines keep, shown as they tell it. */
function addEvictions(registry: Registry, models: Pick<ModelRegistry, 'cacheUsage'>): void {
  new Counter({
    name: 'quire_prompt_cache_evictions_total',
    help: 'Prefixes that made room for others.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(models.cacheUsage()?.evictions ?? 0);
    },
  });
}
