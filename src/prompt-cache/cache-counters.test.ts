import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { assertSchema, bindCatalogue } from '../../test/harness.ts';
import { scriptedEngine } from '../../test/scripted-engine.ts';
import { ModelRegistry } from '../engines/registry.ts';
import { CacheCounters } from './cache-counters.ts';
import { CacheStatistics } from './schema.ts';

/** Creates counters over two engines with a mocked clock. */
function setUp() {
  const engines = [scriptedEngine(), scriptedEngine()] as const;
  const served = bindCatalogue(engines[0]);
  const models = new ModelRegistry(served.map((model, at) => (at === 1 ? { ...model, engine: engines[1] } : model)));
  const metrics = new Registry();
  const clock = { ms: 1_000_000 };
  return { engines, metrics, clock, counters: new CacheCounters({ models, metrics, now: () => clock.ms }) };
}

describe('CacheCounters', () => {
  it('start at zero, with hit rate 0 and unknown memory', () => {
    const statistics = setUp().counters.read();
    assertSchema(CacheStatistics, statistics);
    assert.deepEqual(statistics, {
      hit_count: 0,
      miss_count: 0,
      hit_rate: 0,
      cached_tokens_total: 0,
      memory_usage_mb: null,
      entries: 0,
      evictions: 0,
      uptime_seconds: 0,
    });
  });

  it('count hits, misses and tokens; the hit rate is the share of hits', () => {
    const { counters } = setUp();
    for (const cached of [0, 12, 0, 3, 1]) counters.count('general-8b', cached);
    const { hit_count, miss_count, hit_rate, cached_tokens_total } = counters.read();
    assert.deepEqual([hit_count, miss_count, hit_rate, cached_tokens_total], [3, 2, 0.6, 16]);
  });

  it('sum the caches of the engines that report them, each once', () => {
    const { counters, engines } = setUp();
    engines[0].cache = { bytes: 3 * 1_048_576, entries: 4, evictions: 2 };
    assert.deepEqual(pick(counters), [3, 4, 2]);
    engines[1].cache = { bytes: 524_288, entries: 1, evictions: 5 };
    assert.deepEqual(pick(counters), [3.5, 5, 7]);
    engines[1].cache = { bytes: 0, entries: 0, evictions: 5 };
    engines[0].cache = { bytes: 0, entries: 0, evictions: 2 };
    assert.deepEqual(pick(counters), [0, 0, 7], 'an empty cache is known to be empty');
  });

  it('uptime is whole seconds since the start or the reset, and never below zero', () => {
    const { counters, clock } = setUp();
    clock.ms += 61_999;
    assert.equal(counters.read().uptime_seconds, 61);
    assert.equal(counters.reset().uptime_seconds, 0);
    clock.ms += 2_000;
    assert.equal(counters.read().uptime_seconds, 2);
    clock.ms -= 3_600_000;
    assert.equal(counters.read().uptime_seconds, 0);
  });

  it('a reset counts evictions from zero and keeps the caches', () => {
    const { counters, engines } = setUp();
    engines[0].cache = { bytes: 1_048_576, entries: 4, evictions: 9 };
    counters.count('general-8b', 5);
    const after = counters.reset();
    assert.deepEqual([after.hit_count, after.miss_count, after.hit_rate, after.cached_tokens_total], [0, 0, 0, 0]);
    assert.deepEqual(pick(counters), [1, 4, 0]);
    engines[0].cache.evictions = 11;
    assert.deepEqual(pick(counters), [1, 4, 2]);
    assert.deepEqual(counters.reset(), counters.reset());
  });

  it('metrics are per model, never reset, and absent when no engine reports them', async () => {
    const { counters, engines, metrics } = setUp();
    counters.count('general-8b', 5);
    counters.count('general-70b', 0);
    counters.reset();
    const before = await metrics.metrics();
    assert.match(before, /^quire_prompt_cache_hits_total\{model="general-8b"\} 1$/m);
    assert.match(before, /^quire_prompt_cache_misses_total\{model="general-70b"\} 1$/m);
    assert.match(before, /^quire_prompt_cache_tokens_total\{model="general-8b"\} 5$/m);
    assert.doesNotMatch(before, /^quire_prompt_cache_(bytes|entries) /m);
    engines[1].cache = { bytes: 2048, entries: 3, evictions: 1 };
    for (const _ of [1, 2]) {
      const told = await metrics.metrics();
      assert.match(told, /^quire_prompt_cache_bytes 2048$/m);
      assert.match(told, /^quire_prompt_cache_entries 3$/m);
      assert.match(told, /^quire_prompt_cache_evictions_total 1$/m);
    }
    engines[1].cache = null;
    assert.doesNotMatch(await metrics.metrics(), /^quire_prompt_cache_bytes /m);
  });
});

function pick(counters: CacheCounters) {
  const { memory_usage_mb, entries, evictions } = counters.read();
  return [memory_usage_mb, entries, evictions];
}
