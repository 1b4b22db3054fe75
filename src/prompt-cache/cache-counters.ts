import type { Registry as MetricsRegistry } from 'prom-client';
import type { ModelRegistry } from '../engines/registry.ts';
import { type CacheMetrics, cacheMetrics } from './metrics.ts';
import type { CacheStatistics } from './schema.ts';

/** What the counters work with. */
export interface CacheCountersOptions {
  models: Pick<ModelRegistry, 'cacheUsage'>;
  metrics: MetricsRegistry;
  /** Milliseconds since 1970. */
  now(): number;
}

const BYTES_PER_MB = 1_048_576;

/**
 * The prompt cache's counters, of all models and organizations. They live as long as the process and begin anew with it:
 * what they count is also in the usage records, which last. The metrics beside them are never reset.
 */
export class CacheCounters {
  readonly #models: CacheCountersOptions['models'];
  readonly #metrics: CacheMetrics;
  readonly #now: () => number;
  #hits = 0;
  #misses = 0;
  #cachedTokens = 0;
  /** What the engines had let go before the last reset. */
  #earlierEvictions = 0;
  #sinceMs: number;

  constructor({ models, metrics, now }: CacheCountersOptions) {
    this.#models = models;
    this.#metrics = cacheMetrics(metrics, models);
    this.#now = now;
    this.#sinceMs = now();
  }

  /** Counts one prompt that was processed, `cachedTokens` of it from a cache. */
  count(modelId: string, cachedTokens: number): void {
    if (cachedTokens > 0) this.#hits += 1;
    else this.#misses += 1;
    this.#cachedTokens += cachedTokens;
    this.#metrics.counted(modelId, cachedTokens);
  }

  /** The statistics now. What the caches hold is what their engines last told. */
  read(): CacheStatistics {
    const usage = this.#models.cacheUsage();
    const counted = this.#hits + this.#misses;
    return {
      hit_count: this.#hits,
      miss_count: this.#misses,
      hit_rate: counted === 0 ? 0 : this.#hits / counted,
      cached_tokens_total: this.#cachedTokens,
      memory_usage_mb: usage === null ? null : Math.round((usage.bytes / BYTES_PER_MB) * 1000) / 1000,
      entries: usage?.entries ?? 0,
      evictions: Math.max(0, (usage?.evictions ?? 0) - this.#earlierEvictions),
      // The clock may be set back.
      uptime_seconds: Math.max(0, Math.floor((this.#now() - this.#sinceMs) / 1000)),
    };
  }

  /** Counts from zero again; the caches keep what they hold. May be called twice. */
  reset(): CacheStatistics {
    this.#hits = 0;
    this.#misses = 0;
    this.#cachedTokens = 0;
    this.#earlierEvictions = this.#models.cacheUsage()?.evictions ?? 0;
    this.#sinceMs = this.#now();
    return this.read();
  }
}
