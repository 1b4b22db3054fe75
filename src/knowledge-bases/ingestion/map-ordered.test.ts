import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { mapOrdered } from './map-ordered.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let i = 0; i < count; i++) yield i;
}

/** Work that ends after as many turns of the event loop as its number is below ten, and how much of it was under way at the most. */
function workOf() {
  let now = 0;
  const seen = { most: 0, left: () => now };
  const work = async (one: number) => {
    now += 1;
    seen.most = Math.max(seen.most, now);
    for (let i = one; i < 10; i++) await turn();
    now -= 1;
    if (one === 5) throw new Error('five');
    return one * 2;
  };
  return { work, seen };
}

const bounds = { concurrency: 3, weight: (one: number) => one, maxWeight: 100 };

describe('mapOrdered', () => {
  it('gives results in the order of the source, and works on several at once', async () => {
    const { work, seen } = workOf();
    assert.deepEqual(await Array.fromAsync(mapOrdered(numbers(5), work, bounds)), [0, 2, 4, 6, 8]);
    assert.equal(seen.most, 3);
  });

  it('begins nothing beside what weighs too much', async () => {
    const { work, seen } = workOf();
    assert.deepEqual(await Array.fromAsync(mapOrdered(numbers(4), work, { ...bounds, maxWeight: 0 })), [0, 2, 4, 6]);
    assert.equal(seen.most, 1);
  });

  it('throws what the work throws, behind the results before it, and leaves nothing under way', async () => {
    const { work, seen } = workOf();
    const results: number[] = [];
    const take = async () => {
      for await (const result of mapOrdered(numbers(9), work, bounds)) results.push(result);
    };
    await assert.rejects(take(), /five/);
    assert.deepEqual(results, [0, 2, 4, 6, 8]);
    assert.equal(seen.left(), 0);
  });

  it('leaves nothing under way where its caller leaves', async () => {
    const { work, seen } = workOf();
    for await (const result of mapOrdered(numbers(5), work, bounds)) if (result === 2) break;
    assert.equal(seen.left(), 0);
  });
});
