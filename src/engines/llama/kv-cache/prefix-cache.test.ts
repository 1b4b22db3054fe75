import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PrefixCache, type SlotHolder, type SnapshotHolder } from './prefix-cache.ts';

const saved = (id: string, bytes = 10): SnapshotHolder => ({ kind: 'snapshot', id, bytes, length: 0 });
const slot = (slot: number): SlotHolder => ({ kind: 'slot', slot });
const ids = (holders: readonly SnapshotHolder[]): string[] => holders.map(({ id }) => id);
const MINUTE = 60_000;

describe('PrefixCache', () => {
  it('scopes are isolated', () => {
    const cache = new PrefixCache(100);
    cache.set(slot(0), 'a', [1, 2, 3]);
    cache.addSnapshot(saved('s'), 'a', [1, 2, 3, 4]);
    assert.deepEqual([...cache.matches('b', [1, 2, 3, 4])], []);
    assert.equal([...cache.matches('a', [1, 2, 3, 4])].length, 2);
  });
  it('a longer snapshot replaces its prefixes, which is not an eviction', () => {
    const cache = new PrefixCache(100);
    cache.addSnapshot(saved('turn1'), 'a', [1, 2]);
    assert.deepEqual(ids(cache.addSnapshot(saved('turn2'), 'a', [1, 2, 3, 4])), ['turn1']);
    assert.deepEqual(cache.usage(), { bytes: 10, entries: 1, evictions: 0 });
  });
  it('keeps the budget: the least recently used snapshot is evicted first', () => {
    const cache = new PrefixCache(30);
    const [old, used] = [saved('old'), saved('used')];
    cache.addSnapshot(used, 'a', [1]);
    cache.addSnapshot(old, 'a', [2]);
    cache.addSnapshot(saved('third'), 'a', [3]);
    cache.touch(used);
    assert.deepEqual(ids(cache.addSnapshot(saved('fourth'), 'a', [4])), ['old']);
    assert.deepEqual(cache.usage(), { bytes: 30, entries: 3, evictions: 1 });
  });
  it('a shared prefix outlives each of its holders', () => {
    const cache = new PrefixCache(30);
    cache.addSnapshot(saved('shared-a'), 'a', [1, 1, 1, 5]);
    cache.addSnapshot(saved('other'), 'a', [2]);
    // Uses the shared prefix, then is evicted itself: the other holder of the prefix is as recent now.
    const last = saved('shared-b');
    cache.addSnapshot(last, 'a', [1, 1, 1, 6]);
    cache.remove(last);
    cache.addSnapshot(saved('new'), 'a', [3]);
    assert.deepEqual(ids(cache.addSnapshot(saved('newer'), 'a', [4])), ['other']);
  });
  it('a scope within its share is not evicted by traffic of another', () => {
    const cache = new PrefixCache(100);
    cache.addSnapshot(saved('quiet', 40), 'quiet', [1]);
    for (let i = 0; i < 50; i++) cache.addSnapshot(saved(`busy${i}`), 'busy', [i + 1]);
    assert.equal([...cache.matches('quiet', [1, 2])].length, 1);
    assert.equal(cache.usage().bytes, 100);
  });
  it('an idle scope loses its share', () => {
    let now = 0;
    const cache = new PrefixCache(100, () => now);
    cache.addSnapshot(saved('quiet', 40), 'quiet', [1]);
    now = 31 * MINUTE;
    for (let i = 0; i < 10; i++) cache.addSnapshot(saved(`busy${i}`), 'busy', [i + 1]);
    assert.deepEqual([...cache.matches('quiet', [1])], []);
    assert.equal([...cache.matches('busy', [1])].length, 1);
  });
  for (const use of ['touch', 'set'] as const) {
    it(`a scope keeps its share for half an hour after its last ${use}`, () => {
      let now = 0;
      const cache = new PrefixCache(100, () => now);
      const idle = saved('quiet', 40);
      cache.addSnapshot(idle, 'quiet', [1]);
      now = 29 * MINUTE;
      if (use === 'touch') cache.touch(idle);
      else cache.set(slot(0), 'quiet', [1, 2]);
      now = 58 * MINUTE;
      for (let i = 0; i < 10; i++) cache.addSnapshot(saved(`busy${i}`), 'busy', [i + 1]);
      assert.deepEqual(
        [...cache.matches('quiet', [1])].map(({ holder }) => holder),
        [idle, slot(0)].slice(0, use === 'touch' ? 1 : 2),
      );
    });
  }
  it('every use of a holder is later than all earlier ones', () => {
    const cache = new PrefixCache(100);
    const [first, second] = [saved('first'), slot(0)];
    cache.addSnapshot(first, 'a', [1]);
    cache.set(second, 'b', [2]);
    assert.ok(cache.usedAt(second) > cache.usedAt(first));
    cache.touch(first);
    assert.ok(cache.usedAt(first) > cache.usedAt(second));
    assert.equal(cache.usedAt(slot(1)), 0);
  });
  it('a snapshot larger than the budget is not kept', () => {
    const cache = new PrefixCache(100);
    assert.deepEqual(ids(cache.addSnapshot(saved('huge', 101), 'a', [1, 2])), ['huge']);
    assert.equal(cache.usage().bytes, 0);
  });
  it('counts exclusive and unsaved tokens of a holder', () => {
    const cache = new PrefixCache(100);
    cache.set(slot(0), 'a', [1, 2, 3, 4]);
    cache.set(slot(1), 'a', [1, 2, 3]);
    assert.deepEqual([cache.exclusiveTokens(slot0(cache)), cache.unsavedTokens(slot0(cache))], [1, 4]);
    cache.addSnapshot(saved('s'), 'a', [1, 2]);
    assert.equal(cache.unsavedTokens(slot0(cache)), 2);
  });
});

function slot0(cache: PrefixCache): SlotHolder {
  const [match] = [...cache.matches('a', [1, 2, 3, 4])];
  return match?.holder as SlotHolder;
}
