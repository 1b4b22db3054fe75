import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WINDOW_MS } from '../src/limits/gcra.ts';
import type { Bucket, LimitStore } from '../src/limits/limit-store.ts';

/** A store with a clock that the tests move. */
export interface TestedStore {
  store: LimitStore;
  advance(milliseconds: number): void;
  close(): Promise<void>;
}

/** What every limit store guarantees. */
export function limitStoreConformance(name: string, open: () => Promise<TestedStore>): void {
  describe(`limit store: ${name}`, () => {
    let tested: TestedStore;
    let buckets = 0;
    before(async () => {
      tested = await open();
    });
    after(() => tested.close());

    const bucket = (limit: number): Bucket => ({ id: `bucket ${++buckets}`, limit });
    const take = (...charges: [Bucket, number][]) =>
      tested.store.take({ charges: charges.map(([of, cost]) => ({ bucket: of, cost })), slots: [] });
    const takeSlot = (...slots: Bucket[]) => tested.store.take({ charges: [], slots });

    it('gives as many units as the limit, then none until the exact wait has passed', async () => {
      const requests = bucket(60);
      for (let count = 0; count < 60; count++) assert.equal(await take([requests, 1]), null);
      assert.deepEqual(await take([requests, 1]), { id: requests.id, waitMs: 1_000 });
      tested.advance(999);
      assert.deepEqual(await take([requests, 1]), { id: requests.id, waitMs: 1 });
      tested.advance(1);
      assert.equal(await take([requests, 1]), null);
    });

    it('takes nothing of any bucket when one rejects, and names the one with the longest wait', async () => {
      const [wide, narrow, narrower] = [bucket(600), bucket(2), bucket(1)];
      assert.equal(await take([wide, 1], [narrow, 2], [narrower, 1]), null);
      assert.deepEqual(await take([wide, 500], [narrow, 1], [narrower, 1]), { id: narrower.id, waitMs: WINDOW_MS });
      assert.equal(await take([wide, 599]), null);
    });

    it('never gives more than a bucket holds, whatever the wait', async () => {
      const small = bucket(10);
      assert.deepEqual(await take([small, 11]), { id: small.id, waitMs: Number.POSITIVE_INFINITY });
      assert.equal(await take([small, 10]), null);
    });

    it('shows the state of a bucket: limit, remaining units, time until it is full', async () => {
      const tokens = bucket(600);
      assert.equal(await take([tokens, 0]), null);
      assert.deepEqual(tested.store.state(tokens), { limit: 600, remaining: 600, resetMs: 0 });
      await take([tokens, 150]);
      assert.deepEqual(tested.store.state(tokens), { limit: 600, remaining: 450, resetMs: 15_000 });
      tested.advance(5_000);
      assert.deepEqual(tested.store.state(tokens), { limit: 600, remaining: 500, resetMs: 10_000 });
    });

    it('charges units into debt, which delays the next ones, and takes them back', async () => {
      const tokens = bucket(600);
      await take([tokens, 100]);
      tested.store.charge(tokens, 900);
      const { remaining, resetMs } = tested.store.state(tokens);
      assert.deepEqual([remaining, resetMs], [0, 100_000]);
      assert.deepEqual(await take([tokens, 1]), { id: tokens.id, waitMs: 40_100 });
      tested.store.charge(tokens, -900);
      assert.deepEqual(tested.store.state(tokens), { limit: 600, remaining: 500, resetMs: 10_000 });
      assert.equal(await take([tokens, 500]), null);
      assert.notEqual(await take([tokens, 1]), null);
    });

    it('never holds more units than the limit after units were returned', async () => {
      const tokens = bucket(600);
      await take([tokens, 10]);
      tested.store.charge(tokens, -1_000);
      assert.deepEqual(tested.store.state(tokens), { limit: 600, remaining: 600, resetMs: 0 });
    });

    it('gives slots up to their limit, and a freed one at once', async () => {
      const slots = bucket(3);
      for (let count = 0; count < 3; count++) assert.equal(await takeSlot(slots), null);
      assert.deepEqual(await takeSlot(slots), { id: slots.id, waitMs: 1_000 });
      tested.store.release([slots]);
      assert.equal(await takeSlot(slots), null);
      assert.notEqual(await takeSlot(slots), null);
    });

    it('holds no slot for a request that a bucket rejects, and the reverse', async () => {
      const [slots, requests] = [bucket(1), bucket(2)];
      const both = () => tested.store.take({ charges: [{ bucket: requests, cost: 1 }], slots: [slots] });
      assert.equal(await both(), null);
      assert.equal((await both())?.id, slots.id);
      tested.store.release([slots]);
      assert.equal(await both(), null);
      tested.store.release([slots]);
      assert.equal((await both())?.id, requests.id);
      tested.advance(WINDOW_MS / 2);
      assert.equal(await both(), null);
    });

    it('decides concurrent demands one after the other', async () => {
      const [requests, slots] = [bucket(5), bucket(4)];
      const demand = { charges: [{ bucket: requests, cost: 1 }], slots: [slots] };
      const rejections = await Promise.all(Array.from({ length: 10 }, async () => tested.store.take(demand)));
      assert.equal(rejections.filter((rejection) => rejection === null).length, 4);
    });
  });
}
