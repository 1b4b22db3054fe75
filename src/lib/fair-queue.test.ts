import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairQueue } from './fair-queue.ts';

const filled = (...items: string[]) => {
  const queue = new FairQueue<string>();
  for (const item of items) queue.add(item.charAt(0), item);
  return queue;
};

function takeAll(queue: FairQueue<string>): string[] {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

describe('FairQueue', () => {
  it('gives groups turns, and serves each in the order of arrival', () => {
    assert.deepEqual(takeAll(filled('a1', 'a2', 'a3', 'b1', 'c1', 'c2')), ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  });

  it('serves a new group after one item of each group that waits, however many they have', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 10_000; i++) for (const group of ['a', 'b']) queue.add(group, `${group}${i}`);
    queue.take();
    queue.add('c', 'c');
    assert.deepEqual([queue.take(), queue.take(), queue.take()], ['b0', 'a1', 'c']);
    assert.equal(queue.size, 19_997);
  });

  it('an item that returns after its turn goes behind all groups that wait', () => {
    const queue = filled('a1', 'b1');
    const item = queue.take();
    queue.add('c', 'c1');
    queue.add('a', item ?? '');
    assert.deepEqual(takeAll(queue), ['b1', 'c1', 'a1']);
  });

  it('ranks groups before their turns, and leaves out those without a rank', () => {
    const queue = filled('a1', 'b1', 'c1', 'c2');
    const rank = (group: string) => ({ a: null, b: 2, c: 1 })[group] ?? null;
    assert.deepEqual(
      [queue.peek(rank), queue.take(rank), queue.take(rank), queue.take(rank)],
      ['c1', 'c1', 'c2', 'b1'],
    );
    assert.equal(queue.take(rank), undefined);
    assert.deepEqual([queue.size, queue.peek()], [1, 'a1']);
  });

  it('deletes items, and forgets groups without items', () => {
    const queue = filled('a1', 'a2', 'b1');
    assert.deepEqual([queue.delete('a', 'a1'), queue.delete('a', 'a1'), queue.delete('c', 'c1')], [true, false, false]);
    assert.deepEqual([queue.delete('a', 'a2'), queue.size], [true, 1]);
    queue.add('a', 'a3');
    assert.deepEqual(queue.clear(), ['b1', 'a3']);
    assert.deepEqual([queue.size, queue.take()], [0, undefined]);
  });

  it('counts an item once', () => {
    const queue = filled('a1');
    queue.add('a', 'a1');
    assert.deepEqual([queue.size, takeAll(queue)], [1, ['a1']]);
  });
});
