import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { createLogger } from '../lib/logger.ts';
import { SharedLimitStore } from './shared-store.ts';
import { SlotShare } from './shares.ts';

const SLOTS = { id: 'a', limit: 64 };
const MINUTE_MS = 60_000;

describe('a share of slots', () => {
  it('asks for the slots in use, one for each request, and a thirty-second of all ahead', () => {
    const share = new SlotShare(SLOTS);
    share.used = 3;
    assert.deepEqual(share.ask(2), { id: 'a', slots: 64, used: 3, wanted: 7 });
    assert.deepEqual(share.ask(0), { id: 'a', slots: 64, used: 3, wanted: 3 });
    share.used = 63;
    assert.equal(share.ask(1).wanted, 64, 'never more than all');
  });

  it('is forgotten a minute after it held slots for the last time', () => {
    const share = new SlotShare(SLOTS);
    share.granted(2, 2, 0);
    assert.equal(share.isForgettable(2 * MINUTE_MS), false, 'slots are held');
    share.granted(0, 0, 0);
    assert.equal(share.isForgettable(MINUTE_MS), false);
    assert.equal(share.isForgettable(MINUTE_MS + 1), true);
    share.used = 1;
    assert.equal(share.isForgettable(MINUTE_MS + 1), false, 'a request is in progress');
  });

  it('is returned when nothing uses it, and renewed while something does', () => {
    const share = new SlotShare(SLOTS);
    share.granted(2, 2, 0);
    assert.deepEqual([share.isIdle(999), share.isIdle(1_000)], [false, true]);
    share.used = 2;
    assert.deepEqual([share.isIdle(5_000), share.isIdle(5_001)], [false, true]);
  });
});

describe('SharedLimitStore', () => {
  it('deletes full buckets, and slots of ended processes, every ten minutes', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const statements: string[] = [];
    const db = {
      prepare: () => async () => [],
      execute: async (statement: string) => {
        statements.push(/delete from (\w+)/.exec(statement)?.[1] ?? '');
        return { rows: [] };
      },
    };
    let now = 0;
    const metrics = new Registry();
    new SharedLimitStore({ db, logger: createLogger('silent'), metrics, now: () => now });
    now = 10 * MINUTE_MS;
    t.mock.timers.tick(1_000);
    assert.deepEqual(statements, []);
    now += 1;
    t.mock.timers.tick(1_000);
    const swept = ['rate_limit_buckets', 'rate_limit_slots'];
    assert.deepEqual(statements, swept);
    t.mock.timers.tick(1_000);
    assert.deepEqual(statements, swept, 'not again');
  });
});
