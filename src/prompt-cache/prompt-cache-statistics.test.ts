import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { openTestDatabase } from '../../test/database.ts';
import { until } from '../../test/deadline.ts';
import { assertSchema, bindCatalogue } from '../../test/harness.ts';
import { scriptedEngine } from '../../test/scripted-engine.ts';
import { rollUpUsage } from '../billing/roll-up-usage.ts';
import { usageRecords } from '../billing/tables.ts';
import { DAY_MS, firstIdAt } from '../billing/usage-store.ts';
import { loadConfig } from '../config/config.ts';
import type { Database } from '../db/db.ts';
import { ModelRegistry } from '../engines/registry.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import { createLogger } from '../lib/logger.ts';
import { registerCacheMetrics } from './metrics.ts';
import { PromptCacheStatistics } from './prompt-cache-statistics.ts';
import { CacheStatistics } from './schema.ts';

/** Two engines: the first serves `general-8b`, the second all other models, `general-70b` first. */
function twoEngines() {
  const engines = [scriptedEngine(), scriptedEngine()] as const;
  const served = bindCatalogue(engines[1]);
  const models = new ModelRegistry(
    served.map((model) => (model.id === 'general-8b' ? { ...model, engine: engines[0] } : model)),
  );
  return { engines, models };
}

describe('prompt cache statistics of several processes', () => {
  let db: Database;
  const running: PromptCacheStatistics[] = [];
  const clock = { ms: Date.UTC(2026, 2, 10, 12) };
  before(async () => {
    db = await openTestDatabase();
  });
  after(async () => {
    await Promise.all(running.map((each) => each.stop()));
    await db.close();
  });

  const startProcess = async () => {
    const { engines, models } = twoEngines();
    const logger = createLogger('silent');
    const lease = await new ProcessLease({ db, logger }).start();
    const statistics = await PromptCacheStatistics.start({ db, lease, models, logger, now: () => clock.ms });
    running.push(statistics);
    return { engines, lease, statistics };
  };
  let records = 0;
  const record = async (model: string, cachedTokens: number, isCacheHit: boolean | null = cachedTokens > 0) => {
    records += 1;
    await db.sql.insert(usageRecords).values({
      ...{ id: firstIdAt(clock.ms) + String(records).padStart(16, '0'), organizationId: 'org_1', keyId: 'key_1' },
      ...{ requestId: 'req_1', endpoint: '/v1/test', model, promptTokens: 10, cachedTokens, completionTokens: 1 },
      ...{ isCacheHit, outcome: 'completed', createdAt: new Date(clock.ms) },
    });
  };
  const counts = async (statistics: PromptCacheStatistics) => {
    const read = await statistics.read();
    assertSchema(CacheStatistics, read);
    return [read.hit_count, read.miss_count, read.cached_tokens_total];
  };
  const caches = async (statistics: PromptCacheStatistics) => {
    const { memory_usage_mb, entries, evictions } = await statistics.read();
    return [memory_usage_mb, entries, evictions].join();
  };

  it('begin with the first start, and count usage records by model, the same in every process', async () => {
    await record('general-8b', 4);
    const [a, b] = [await startProcess(), await startProcess()];
    assert.deepEqual(await counts(a.statistics), [0, 0, 0]);
    await record('general-8b', 5);
    await record('general-8b', 0);
    await record('general-70b', 7);
    await record('embed-large-en-v1.5', 0, null);
    clock.ms += 61_999;
    for (const { statistics } of [a, b]) {
      assert.deepEqual(await counts(statistics), [2, 1, 12]);
      const { models, hit_rate, uptime_seconds } = await statistics.read();
      assert.deepEqual([hit_rate, uptime_seconds], [2 / 3, 61]);
      assert.deepEqual(
        models.map((each) => [each.model, each.hit_count, each.miss_count, each.cached_tokens_total]),
        [
          ['general-70b', 1, 0, 7],
          ['general-8b', 1, 1, 5],
        ],
      );
    }
  });

  it('keep their counts when records are added up by day and deleted, and after a restart', async () => {
    const [{ statistics }] = [await startProcess()];
    const before = await counts(statistics);
    clock.ms += 3 * DAY_MS;
    await rollUpUsage({ db, config: { ...loadConfig({}), usageRetentionDays: 1 }, now: () => clock.ms });
    assert.equal(await db.sql.$count(usageRecords), 0);
    assert.deepEqual(await counts(statistics), before);
    await statistics.stop();
    assert.deepEqual(await counts((await startProcess()).statistics), before);
  });

  it('begin again with a reset, in every process', async () => {
    const [a, b] = [await startProcess(), await startProcess()];
    await record('general-8b', 5);
    const { hit_count, miss_count, cached_tokens_total, uptime_seconds } = await b.statistics.reset();
    assert.deepEqual([hit_count, miss_count, cached_tokens_total, uptime_seconds], [0, 0, 0, 0]);
    await record('general-8b', 0);
    for (const { statistics } of [a, b]) assert.deepEqual(await counts(statistics), [0, 1, 0]);
    clock.ms -= 3_600_000;
    assert.equal((await a.statistics.read()).uptime_seconds, 0);
  });

  it('add up the caches of all processes, and keep the evictions of those that ended', async () => {
    const [a, b] = [await startProcess(), await startProcess()];
    await a.statistics.reset();
    assert.equal(await caches(a.statistics), ',0,0');
    a.engines[0].cache = { bytes: 1_048_576, entries: 2, evictions: 3 };
    b.engines[1].cache = { bytes: 524_288, entries: 1, evictions: 4 };
    for (const { statistics } of [a, b]) await until(async () => (await caches(statistics)) === '1.5,3,7');
    const { models } = await a.statistics.read();
    assert.deepEqual(
      models.flatMap(({ model, memory_usage_mb, evictions }) =>
        evictions === 0 ? [] : [[model, memory_usage_mb, evictions]],
      ),
      [
        ['general-70b', 0.5, 4],
        ['general-8b', 1, 3],
      ],
    );
    await a.statistics.stop();
    assert.equal(await caches(b.statistics), '0.5,1,7');
    const killed = await startProcess();
    killed.engines[0].cache = { bytes: 2_097_152, entries: 5, evictions: 10 };
    await until(async () => (await caches(b.statistics)) === '2.5,6,17');
    await db.execute(`update processes set renewed_at = now() - interval '31 seconds' where id = '${killed.lease.id}'`);
    assert.equal(await caches(b.statistics), '0.5,1,17');
    // A start moves the evictions of processes that have ended to one row.
    await startProcess();
    assert.equal(await caches(b.statistics), '0.5,1,17');
    const { evictions, entries } = await b.statistics.reset();
    assert.deepEqual([evictions, entries], [0, 1]);
  });
});

describe('metrics of the prompt cache', () => {
  it('are per model, and absent when no engine reports them', async () => {
    const { engines, models } = twoEngines();
    const metrics = new Registry();
    const { countPrompt } = registerCacheMetrics(metrics, models);
    countPrompt('general-8b', 5);
    countPrompt('general-70b', 0);
    const before_ = await metrics.metrics();
    assert.match(before_, /^quire_prompt_cache_hits_total\{model="general-8b"\} 1$/m);
    assert.match(before_, /^quire_prompt_cache_misses_total\{model="general-70b"\} 1$/m);
    assert.match(before_, /^quire_prompt_cache_tokens_total\{model="general-8b"\} 5$/m);
    assert.doesNotMatch(before_, /^quire_prompt_cache_(bytes|entries)\{/m);
    engines[1].cache = { bytes: 2048, entries: 3, evictions: 1 };
    for (const _ of [1, 2]) {
      const scraped = await metrics.metrics();
      assert.match(scraped, /^quire_prompt_cache_bytes\{model="general-70b"\} 2048$/m);
      assert.match(scraped, /^quire_prompt_cache_entries\{model="general-70b"\} 3$/m);
      assert.match(scraped, /^quire_prompt_cache_evictions_total\{model="general-70b"\} 1$/m);
    }
    engines[1].cache = null;
    assert.doesNotMatch(await metrics.metrics(), /^quire_prompt_cache_bytes\{/m);
    assert.doesNotMatch(before_, /^quire_upstream_prefix_affinity_total\{/m);
    Object.assign(engines[0], { affinity: () => ({ first: 2, hit: 5, moved: 1 }) });
    const placed = (await metrics.metrics()).match(/^quire_upstream_prefix_affinity_total\{.*$/gm);
    assert.deepEqual(
      placed,
      ['first"} 2', 'hit"} 5', 'moved"} 1'].map(
        (end) => `quire_upstream_prefix_affinity_total{model="general-8b",outcome="${end}`,
      ),
    );
  });
});
