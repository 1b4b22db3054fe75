import type { Registry as MetricsRegistry } from 'prom-client';
import type { ModelRegistry } from '../engines/registry.ts';
import { type CacheMetrics, cacheMetrics } from './metrics.ts';
import type { CacheStatistics } from './schema.ts';

/** Dependencies of the counters. */
export interface CacheCountersOptions {
  models: Pick<ModelRegistry, 'cacheUsage'>;
  metrics: MetricsRegistry;
  /** Returns Unix milliseconds. */
  now(): number;
}

const BYTES_PER_MB = 1_048_576;

/**
 * Prompt cache statistics over all models and organizations, since the start of the process or the last reset. The usage records hold
 * the same counts persistently. The Prometheus metrics are never reset.
 */
export class CacheCounters {
  readonly #models: CacheCountersOptions['models'];
  readonly #metrics: CacheMetrics;
  readonly #now: () => number;
  #hits = 0;
  #misses = 0;
  #cachedTokens = 0;
  /** Evictions before the last reset. */
  #earlierEvictions = 0;
  #sinceMs: number;

  constructor({ models, metrics, now }: CacheCountersOptions) {
    this.#models = models;
    this.#metrics = cacheMetrics(metrics, models);
    this.#now = now;
    this.#sinceMs = now();
  }

  /** Counts a processed prompt with `cachedTokens` tokens from the cache. */
  count(modelId: string, cachedTokens: number): void {
    if (cachedTokens > 0) this.#hits += 1;
    else this.#misses += 1;
    this.#cachedTokens += cachedTokens;
    this.#metrics.countPrompt(modelId, cachedTokens);
  }

  /** Returns the statistics. Entries and memory are the last values reported by the engines. */
  read(): CacheStatistics {
    const usage = this.#models.cacheUsage();
    const prompts = this.#hits + this.#misses;
    return {
      hit_count: this.#hits,
      miss_count: this.#misses,
      hit_rate: prompts === 0 ? 0 : this.#hits / prompts,
      cached_tokens_total: this.#cachedTokens,
      memory_usage_mb: usage === null ? null : Math.round((usage.bytes / BYTES_PER_MB) * 1000) / 1000,
      entries: usage?.entries ?? 0,
      evictions: Math.max(0, (usage?.evictions ?? 0) - this.#earlierEvictions),
      // The system clock can be set back.
      uptime_seconds: Math.max(0, Math.floor((this.#now() - this.#sinceMs) / 1000)),
    };
  }

  /** Resets the counters and returns the statistics. Does not clear the caches. */
  reset(): CacheStatistics {
    this.#hits = 0;
    this.#misses = 0;
    this.#cachedTokens = 0;
    this.#earlierEvictions = this.#models.cacheUsage()?.evictions ?? 0;
    this.#sinceMs = this.#now();
    return this.read();
  }
}
