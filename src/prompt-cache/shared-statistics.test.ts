import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { openTestDatabase } from '../../test/database.ts';
import { bindCatalogue } from '../../test/harness.ts';
import { scriptedEngine } from '../../test/scripted-engine.ts';
import { until } from '../../test/spawned-service.ts';
import type { Database } from '../db/db.ts';
import { ModelRegistry } from '../engines/registry.ts';
import { createLogger } from '../lib/logger.ts';
import { CacheCounters } from './cache-counters.ts';
import { SharedStatistics } from './shared-statistics.ts';

describe('prompt cache statistics of several processes', () => {
  let db: Database;
  const running: SharedStatistics[] = [];
  before(async () => {
    db = await openTestDatabase();
  });
  after(async () => {
    await Promise.all(running.map((each) => each.stop()));
    await db.close();
  });

  /** Simulates a process with its own counters. */
  function startProcess() {
    const engine = scriptedEngine();
    const models = new ModelRegistry(bindCatalogue(engine));
    const counters = new CacheCounters({ models, metrics: new Registry(), now: Date.now });
    const statistics = new SharedStatistics({ db, counters, logger: createLogger('silent'), now: Date.now });
    running.push(statistics);
    return { engine, counters, statistics };
  }

  const read = async ({ statistics }: { statistics: SharedStatistics }) => {
    const { hit_count, miss_count, hit_rate, cached_tokens_total, memory_usage_mb, entries } = await statistics.read();
    return [hit_count, miss_count, hit_rate, cached_tokens_total, memory_usage_mb, entries];
  };
  const untilRead = (process: { statistics: SharedStatistics }, expected: (number | null)[]) =>
    until(async () => (await read(process)).join() === expected.join());

  it('are summed, the own counts without delay; a reset reaches all, also counts that were not published yet', async () => {
    const [a, b] = [startProcess(), startProcess()];
    a.engine.cache = { bytes: 1_048_576, entries: 2, evictions: 0 };
    a.counters.count('general-8b', 5);
    b.counters.count('general-8b', 0);
    b.counters.count('general-70b', 7);
    assert.deepEqual((await read(a)).slice(0, 4), [1, 0, 1, 5]);
    for (const each of [a, b]) await untilRead(each, [2, 1, 2 / 3, 12, 1, 2]);

    b.counters.count('general-8b', 1);
    const after = await a.statistics.reset();
    assert.deepEqual([after.hit_count, after.miss_count, after.uptime_seconds], [0, 0, 0]);
    await until(() => b.counters.counts().hits === 0);
    a.counters.count('general-8b', 3);
    for (const each of [a, b]) await untilRead(each, [1, 0, 1, 3, 1, 2]);
  });

  it('leave with their process, stopped or killed', async () => {
    const [a, b] = running as [SharedStatistics, SharedStatistics];
    await a.stop();
    await untilRead({ statistics: b }, [0, 0, 0, 0, null, 0]);
    const killed = startProcess();
    killed.counters.count('general-8b', 4);
    await untilRead({ statistics: b }, [1, 0, 1, 4, null, 0]);
    await db.execute("update prompt_cache_counts set updated_at = now() - interval '1 minute' where hits > 0");
    await untilRead({ statistics: b }, [0, 0, 0, 0, null, 0]);
  });
});
