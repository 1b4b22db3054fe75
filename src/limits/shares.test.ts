import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { createLogger } from '../lib/logger.ts';
import { SharedLimitStore } from './shared-store.ts';
import { BucketShare, SlotShare } from './shares.ts';

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

  it('is returned when nothing uses it, and taken again when the process has lost what it uses', () => {
    const share = new SlotShare(SLOTS);
    share.granted(2, 2, 0);
    assert.deepEqual([share.isIdle(999), share.isIdle(1_000)], [false, true]);
    share.used = 2;
    assert.equal(share.isIdle(5_000), false);
    share.lose();
    assert.deepEqual([share.isIdle(0), share.isFree(0)], [true, undefined]);
    assert.deepEqual(share.ask(0), { id: 'a', slots: 64, used: 2, wanted: 2 });
  });
});

describe('a share of a bucket', () => {
  it('asks for what requests need, without those that no bucket of this size can serve', () => {
    const share = new BucketShare({ id: 'a', limit: 60 });
    const ask = { id: 'a', per_minute: 60, returned: 0 };
    assert.deepEqual(share.ask([61, 2, 3]), { ...ask, least: 2, most: 6 }, 'and the refill of a second');
    assert.deepEqual(share.ask([61]), { ...ask, least: 0, most: 1 });
    assert.deepEqual(share.ask([60, 60]), { ...ask, least: 60, most: 60 }, 'never more than the bucket');
  });

  it('keeps units that were used during a failed exchange, and owes those that it does not hold', () => {
    const share = new BucketShare({ id: 'a', limit: 60 });
    share.granted(10, 0, 0);
    share.ask([1]);
    share.use(4);
    share.failed(0);
    assert.equal(share.credit, 6);
    share.ask([1]);
    share.use(9);
    share.failed(0);
    assert.deepEqual([share.credit, share.state(0).remaining], [0, 57], '3 units are charged offline');
  });

  it('a share of all slots answers alone while it is current', () => {
    const share = new SlotShare({ id: 'a', limit: 2 });
    share.granted(2, 2, 0);
    share.used = 2;
    assert.deepEqual([share.isFree(999), share.isFree(1_000)], [false, undefined]);
    const part = new SlotShare({ id: 'b', limit: 64 });
    part.granted(2, 2, 0);
    part.used = 2;
    assert.equal(part.isFree(0), undefined, 'the database may have more');
  });
});

describe('SharedLimitStore', () => {
  it('deletes full buckets every ten minutes', (t) => {
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
    const lease = { id: 'proc_1', onRegained: () => {} };
    new SharedLimitStore({ db, lease, logger: createLogger('silent'), metrics, now: () => now });
    now = 10 * MINUTE_MS;
    t.mock.timers.tick(1_000);
    assert.deepEqual(statements, []);
    now += 1;
    t.mock.timers.tick(1_000);
    const swept = ['rate_limit_buckets'];
    assert.deepEqual(statements, swept);
    t.mock.timers.tick(1_000);
    assert.deepEqual(statements, swept, 'not again');
  });
});
