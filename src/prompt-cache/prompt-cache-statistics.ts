import { sumPromptCache } from '../billing/usage-store.ts';
import type { Database } from '../db/db.ts';
import type { ModelCacheUsage, ModelRegistry } from '../engines/registry.ts';
import type { ProcessLease } from '../leases/process-lease.ts';
import type { Logger } from '../lib/logger.ts';
import { type PeriodicTask, runPeriodically } from '../lib/run-periodically.ts';
import type { CacheStatistics } from './schema.ts';
import { foldEndedUsage, replaceUsage, selectBaseline, selectOtherUsage, storeBaseline } from './store.ts';
import type { CacheBaseline } from './tables.ts';

/** Maximum age of entries, memory and evictions of other processes. Nothing is written without a change. */
const PUBLISH_MS = 1_000;
const BYTES_PER_MB = 1_048_576;

/** Dependencies of the statistics. */
export interface PromptCacheStatisticsDeps {
  db: Pick<Database, 'sql'>;
  lease: Pick<ProcessLease, 'id' | 'onRegained'>;
  models: Pick<ModelRegistry, 'cacheUsageByModel' | 'cacheSharers'>;
  logger: Logger;
  /** Returns Unix milliseconds. */
  now(): number;
}

/** Counts of one model since the first start. */
type ModelCounts = CacheBaseline & Pick<ModelCacheUsage, 'bytes' | 'entries'>;

/**
 * Prompt cache statistics of the instance. Hits, misses and tokens are sums of the usage records, so they are exact for
 * any number of processes and after crashes. Each process publishes entries, memory and evictions of its caches. A
 * reset stores the counts, which are subtracted from then on.
 */
export class PromptCacheStatistics {
  readonly #deps: PromptCacheStatisticsDeps;
  #publishing: PeriodicTask | null = null;
  #published = '[]';

  private constructor(deps: PromptCacheStatisticsDeps) {
    this.#deps = deps;
    // Another process may have counted this one as ended.
    deps.lease.onRegained(() => {
      this.#published = '';
    });
  }

  /** Publishes the caches of this process until `stop()`. The first start of an instance begins to count. */
  static async start(deps: PromptCacheStatisticsDeps): Promise<PromptCacheStatistics> {
    const statistics = new PromptCacheStatistics(deps);
    const { db, logger, now } = deps;
    await foldEndedUsage(db.sql, null);
    if ((await selectBaseline(db.sql)) === null) {
      const counts = await statistics.#counts();
      await storeBaseline(db.sql, counts.map(toBaseline), { since: new Date(now()), replace: false });
    }
    statistics.#publishing = runPeriodically(PUBLISH_MS, 'publish cache usage', () => statistics.#publish(), logger);
    return statistics;
  }

  /** The statistics of all processes since the last reset. */
  async read(): Promise<CacheStatistics> {
    const { db, now } = this.#deps;
    const [counts, baseline] = [await this.#counts(), await selectBaseline(db.sql)];
    const uptimeMs = now() - (baseline?.since.getTime() ?? now());
    return this.#view(counts, baseline?.counts ?? [], uptimeMs);
  }

  /** Resets the statistics of all processes and returns them. Does not clear the caches. */
  async reset(): Promise<CacheStatistics> {
    const { db, now } = this.#deps;
    const counts = await this.#counts();
    await storeBaseline(db.sql, counts.map(toBaseline), { since: new Date(now()), replace: true });
    return this.#view(counts, counts, 0);
  }

  #view(counts: readonly ModelCounts[], baseline: readonly CacheBaseline[], uptimeMs: number): CacheStatistics {
    const sharers = this.#deps.models.cacheSharers();
    const { models, ...statistics } = viewStatistics(counts, baseline, uptimeMs);
    return {
      ...statistics,
      models: models.map((model) => ({ ...model, shared_with: [...(sharers.get(model.model) ?? [])] })),
    };
  }

  /** Keeps the evictions of this process in the sums. */
  async stop(): Promise<void> {
    await this.#publishing?.stop();
    const { db, lease, models } = this.#deps;
    const usages = models.cacheUsageByModel();
    if (usages.size === 0 && this.#published === '[]') return;
    // Closed engines may report nothing any more: what was published counts.
    if (usages.size > 0) await replaceUsage(db.sql, lease.id, usages);
    await foldEndedUsage(db.sql, lease.id);
  }

  async #counts(): Promise<ModelCounts[]> {
    const { db, lease, models } = this.#deps;
    const counts = new Map<string, ModelCounts>();
    const find = (model: string) => {
      const row = counts.get(model) ?? { model, ...{ hits: 0, misses: 0, cachedTokens: 0 }, ...NO_CACHE };
      counts.set(model, row);
      return row;
    };
    for (const sum of await sumPromptCache(db.sql)) Object.assign(find(sum.model), sum);
    const own = [...models.cacheUsageByModel()].map(([model, usage]) => ({ model, ...usage }));
    for (const usage of [...own, ...(await selectOtherUsage(db.sql, lease.id))]) {
      const model = find(usage.model);
      if (usage.bytes !== null) model.bytes = (model.bytes ?? 0) + usage.bytes;
      model.entries += usage.entries;
      model.evictions += usage.evictions;
    }
    return [...counts.values()].toSorted((a, b) => (a.model < b.model ? -1 : 1));
  }

  async #publish(): Promise<void> {
    const { db, lease, models } = this.#deps;
    const usages = models.cacheUsageByModel();
    const text = JSON.stringify([...usages]);
    if (text === this.#published) return;
    await replaceUsage(db.sql, lease.id, usages);
    this.#published = text;
  }
}

const NO_CACHE = { bytes: null, entries: 0, evictions: 0 };

const toBaseline = ({ model, hits, misses, cachedTokens, evictions }: ModelCounts): CacheBaseline => ({
  ...{ model, hits, misses, cachedTokens, evictions },
});

/** Subtracts the counts of the last reset, and adds the models up. */
function viewStatistics(counts: readonly ModelCounts[], baseline: readonly CacheBaseline[], uptimeMs: number) {
  const earlier = new Map(baseline.map((model) => [model.model, model]));
  const since = counts.map((count): ModelCounts => {
    const { hits = 0, misses = 0, cachedTokens = 0, evictions = 0 } = earlier.get(count.model) ?? {};
    return {
      ...count,
      hits: count.hits - hits,
      misses: count.misses - misses,
      cachedTokens: count.cachedTokens - cachedTokens,
      // Evictions before a reset may be published after it.
      evictions: Math.max(0, count.evictions - evictions),
    };
  });
  const sum = (count: (model: ModelCounts) => number) => since.reduce((total, model) => total + count(model), 0);
  const isKnown = since.some(({ bytes }) => bytes !== null);
  const total = { bytes: isKnown ? sum(({ bytes }) => bytes ?? 0) : null, entries: sum(({ entries }) => entries) };
  const used = since.filter((model) => model.hits + model.misses + model.evictions > 0 || model.bytes !== null);
  return {
    ...viewCounts({
      ...total,
      hits: sum(({ hits }) => hits),
      misses: sum(({ misses }) => misses),
      cachedTokens: sum(({ cachedTokens }) => cachedTokens),
      evictions: sum(({ evictions }) => evictions),
    }),
    // The system clock can be set back.
    uptime_seconds: Math.max(0, Math.floor(uptimeMs / 1000)),
    models: used.map((model) => ({ model: model.model, ...viewCounts(model) })),
  };
}

function viewCounts({ hits, misses, cachedTokens, bytes, entries, evictions }: Omit<ModelCounts, 'model'>) {
  const prompts = hits + misses;
  return {
    hit_count: hits,
    miss_count: misses,
    hit_rate: prompts === 0 ? 0 : hits / prompts,
    cached_tokens_total: cachedTokens,
    memory_usage_mb: bytes === null ? null : Math.round((bytes / BYTES_PER_MB) * 1000) / 1000,
    entries,
    evictions,
  };
}
