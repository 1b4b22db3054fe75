import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../../test/deadline.ts';
import { chatRequest, collectGeneration } from '../../../../test/engine-conformance.ts';
import { writeTinyGguf } from '../../../../test/fixtures/tiny-gguf.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { CacheUsage } from '../../engine.ts';
import { createLocalEngine, type LocalEngine } from './local-engine.ts';

const never = new AbortController().signal;

describe('cache statistics of a local engine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-usage-'));
  let engine: LocalEngine;
  before(async () => {
    const file = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 1024 });
    const logger = createLogger('silent');
    const more = { name: 'tiny', kind: 'local', contextTokens: null, threads: 1, logger } as const;
    // One slot: every other prompt evicts the one before.
    engine = createLocalEngine({ file, slots: 1, ...more });
    await engine.check(never);
  });
  after(async () => {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Waits until the host reports usage that satisfies `holds`; the test timeout ends a wait in vain. */
  const told = async (holds: (usage: CacheUsage) => boolean): Promise<CacheUsage> => {
    for (;;) {
      const usage = engine.cacheUsage();
      if (usage !== null && holds(usage)) return usage;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  it('a prompt is an entry with bytes in memory', async () => {
    await collectGeneration(engine, chatRequest('Hello'));
    const usage = await told(({ entries }) => entries > 0);
    assert.equal(usage.entries, 1);
    assert.ok(usage.bytes > 0);
  });

  it('evictions are counted, also across a crash of the host', async () => {
    // Prompts of a few tokens are not counted.
    for (const words of ['the cat sat ', 'a dog ran ', 'one bird flew ']) {
      await collectGeneration(engine, chatRequest(words.repeat(40), { scope: words }));
    }
    const { evictions } = await told((usage) => usage.evictions > 0);
    assert.ok(engine.hostPid !== null);
    process.kill(engine.hostPid, 'SIGKILL');
    assert.deepEqual(await told(({ entries }) => entries === 0), { bytes: 0, entries: 0, evictions });
    await until(() => engine.backend().ready);
    await collectGeneration(engine, chatRequest('Hello'));
    const again = await told(({ entries }) => entries > 0);
    assert.equal(again.evictions, evictions);
  });
});
