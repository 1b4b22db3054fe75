import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { mapOrdered } from './map-ordered.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let i = 0; i < count; i++) yield i;
}

/** Work that takes more event loop iterations for smaller numbers; tracks the maximum concurrency. */
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
  it('yields results in source order with concurrency', async () => {
    const { work, seen } = workOf();
    assert.deepEqual(await Array.fromAsync(mapOrdered(numbers(5), work, bounds)), [0, 2, 4, 6, 8]);
    assert.equal(seen.most, 3);
  });

  it('runs a heavy item alone', async () => {
    const { work, seen } = workOf();
    assert.deepEqual(await Array.fromAsync(mapOrdered(numbers(4), work, { ...bounds, maxWeight: 0 })), [0, 2, 4, 6]);
    assert.equal(seen.most, 1);
  });

  it('throws errors in order after all items have settled', async () => {
    const { work, seen } = workOf();
    const results: number[] = [];
    const take = async () => {
      for await (const result of mapOrdered(numbers(9), work, bounds)) results.push(result);
    };
    await assert.rejects(take(), /five/);
    assert.deepEqual(results, [0, 2, 4, 6, 8]);
    assert.equal(seen.left(), 0);
  });

  it('settles all items when the caller stops early', async () => {
    const { work, seen } = workOf();
    for await (const result of mapOrdered(numbers(5), work, bounds)) if (result === 2) break;
    assert.equal(seen.left(), 0);
  });
});
