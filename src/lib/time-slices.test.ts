import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as round } from 'node:timers/promises';
import { nextSlice, SLICE_MS, TimeSlice } from './time-slices.ts';

/** Starts `count` computations of `steps` slices each. `log` gets the name of each slice. */
function compute(group: string, count: number, steps: number, log: string[]): Promise<unknown> {
  const one = async (index: number) => {
    for (let step = 0; step < steps; step++) {
      await nextSlice(group);
      log.push(`${group}${index}`);
    }
  };
  return Promise.all(Array.from({ length: count }, (_, index) => one(index)));
}

describe('nextSlice', () => {
  it('serves an organization after one slice of each other one, however many computations they have', async () => {
    const log: string[] = [];
    const flood = compute('a', 500, 2, log);
    await nextSlice('a');
    const before = log.length;
    await compute('b', 1, 3, log);
    const [first, second, third] = log.flatMap((name, at) => (name === 'b0' ? [at] : []));
    assert.ok(first !== undefined && first <= before + 2, `${first} after ${before}`);
    assert.deepEqual([second, third], [first + 2, first + 4]);
    await flood;
    assert.equal(log.length, 1_003);
  });

  it('gives one slice at a time, with rounds of the event loop between two', async () => {
    const log: string[] = [];
    const flood = compute('a', 50, 1, log);
    for (let rounds = 1; log.length < 50; rounds++) {
      await round();
      assert.ok(log.length <= Math.ceil(rounds / 2), `${log.length} slices in ${rounds} rounds`);
    }
    await flood;
  });

  it('is over after its time, and begins again', async () => {
    const slice = new TimeSlice('a');
    assert.equal(slice.isOver, false);
    const endsAt = performance.now() + SLICE_MS;
    while (performance.now() < endsAt);
    assert.equal(slice.isOver, true);
    await slice.next();
    assert.equal(slice.isOver, false);
  });
});
