import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RadixTree } from './radix-tree.ts';

const everyone = (): boolean => true;

describe('RadixTree', () => {
  it('finds the longest common prefix, then every shorter one', () => {
    const tree = new RadixTree<string>();
    tree.set('abc', [1, 2, 3], 1);
    tree.set('abde', [1, 2, 4, 5], 2);
    tree.set('x', [9], 3);
    assert.deepEqual(
      [...tree.matches([1, 2, 4, 7])],
      [
        { holder: 'abde', length: 3 },
        { holder: 'abc', length: 2 },
      ],
    );
    assert.deepEqual([...tree.matches([7])], []);
  });
  it('counts shared tokens once, and removes paths without a holder', () => {
    const tree = new RadixTree<string>();
    tree.set('abc', [1, 2, 3], 1);
    tree.set('abd', [1, 2, 4], 2);
    tree.set('ab', [1, 2], 3);
    assert.deepEqual([tree.size, tree.leaves, tree.tokens], [3, 2, 4]);
    tree.remove('abc');
    tree.remove('ab');
    assert.deepEqual([tree.size, tree.leaves, tree.tokens], [1, 1, 3]);
    tree.remove('abd');
    assert.deepEqual([tree.size, tree.leaves, tree.tokens], [0, 0, 0]);
  });
  it('the last holder of a shared prefix inherits its last use', () => {
    const tree = new RadixTree<string>();
    tree.set('abc', [1, 2, 3], 1);
    tree.set('abd', [1, 2, 4], 5);
    assert.equal(tree.usedAt('abc'), 1);
    tree.remove('abd');
    assert.equal(tree.usedAt('abc'), 5);
  });
  it('agrees with a brute-force comparison after random changes', () => {
    let seed = 3;
    const random = (below: number): number => {
      seed = (seed * 16807) % 2147483647;
      return seed % below;
    };
    const slot = (): number[] => Array.from({ length: random(7) }, () => 1 + random(2));
    const tree = new RadixTree<number>();
    const held = new Map<number, number[]>();
    for (let round = 0; round < 4_000; round++) {
      const holder = random(12);
      if (random(3) === 0) {
        tree.remove(holder);
        held.delete(holder);
      } else {
        const tokens = slot();
        tree.set(holder, tokens, round);
        held.set(holder, tokens);
      }
      checkAgainst(tree, held, slot());
    }
  });
});

function common(a: readonly number[], b: readonly number[]): number {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1;
  return length;
}

function checkAgainst(tree: RadixTree<number>, held: ReadonlyMap<number, number[]>, probe: number[]): void {
  const expected = [...held]
    .map(([holder, tokens]) => ({ holder, length: common(tokens, probe) }))
    .filter(({ length }) => length > 0);
  const found = [...tree.matches(probe)];
  const byHolder = (a: { holder: number }, b: { holder: number }): number => a.holder - b.holder;
  assert.deepEqual(found.toSorted(byHolder), expected.sort(byHolder));
  assert.deepEqual(
    found.map(({ length }) => length),
    found.map(({ length }) => length).sort((a, b) => b - a),
  );
  const distinct = new Set([...held.values()].flatMap((tokens) => tokens.map((_, i) => tokens.slice(0, i + 1).join())));
  assert.equal(tree.tokens, distinct.size);
  assert.equal(tree.size, held.size);
  for (const [holder, tokens] of held) {
    const others = [...held].filter(([other]) => other !== holder);
    const longest = Math.max(0, ...others.map(([, other]) => common(other, tokens)));
    assert.equal(tree.exclusiveTokens(holder, 0, everyone), tokens.length - longest);
    const prefixesOf = others.filter(([, other]) => common(other, tokens) === other.length).map(([other]) => other);
    assert.deepEqual([...tree.prefixesOf(holder)].sort(), prefixesOf.sort());
  }
}
