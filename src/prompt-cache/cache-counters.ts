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

/** Counts of one process since its start or the last reset. */
export interface CacheCounts {
  /** Prompts with a cached prefix, and prompts without. */
  hits: number;
  misses: number;
  cachedTokens: number;
  evictions: number;
  /** Memory of the caches; null when no engine reports it. */
  bytes: number | null;
  entries: number;
  since: Date;
}

const BYTES_PER_MB = 1_048_576;

/**
 * Prompt cache counts of this process over all models and organizations, since its start or the last reset. The usage records hold the
 * same counts persistently. The Prometheus metrics are never reset.
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

  /** The counts of this process. Entries and memory are the last values reported by the engines. */
  counts(): CacheCounts {
    const usage = this.#models.cacheUsage();
    return {
      hits: this.#hits,
      misses: this.#misses,
      cachedTokens: this.#cachedTokens,
      evictions: Math.max(0, (usage?.evictions ?? 0) - this.#earlierEvictions),
      bytes: usage?.bytes ?? null,
      entries: usage?.entries ?? 0,
      since: new Date(this.#sinceMs),
    };
  }

  /** Returns the statistics of this process. */
  read(): CacheStatistics {
    return toStatistics([this.counts()], this.#now());
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

/** The sums over processes. `nowMs` in Unix milliseconds; `uptime_seconds` is that of the process that counts for the longest time. */
export function toStatistics(processes: readonly CacheCounts[], nowMs: number): CacheStatistics {
  const sum = (count: (process: CacheCounts) => number) => processes.reduce((total, each) => total + count(each), 0);
  const hits = sum((each) => each.hits);
  const prompts = hits + sum((each) => each.misses);
  const bytes = processes.some((each) => each.bytes !== null) ? sum((each) => each.bytes ?? 0) : null;
  const sinceMs = Math.min(...processes.map(({ since }) => since.getTime()));
  return {
    hit_count: hits,
    miss_count: prompts - hits,
    hit_rate: prompts === 0 ? 0 : hits / prompts,
    cached_tokens_total: sum((each) => each.cachedTokens),
    memory_usage_mb: bytes === null ? null : Math.round((bytes / BYTES_PER_MB) * 1000) / 1000,
    entries: sum((each) => each.entries),
    evictions: sum((each) => each.evictions),
    // The system clock can be set back.
    uptime_seconds: Math.max(0, Math.floor((nowMs - sinceMs) / 1000)),
  };
}
