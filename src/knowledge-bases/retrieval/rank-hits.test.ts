import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChunkHit } from '../../search/chunk-table.ts';
import { rankHits, type ScoredHit } from './rank-hits.ts';
import { scoreHit } from './score.ts';

const SEARCHES = 300;

/** Deterministic pseudo-random numbers from 0 to 1 (a linear congruential generator). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** Random hits by keyword and by vector with their true BM25 scores, with many ties. */
function someHits(seed: number): { known: ChunkHit[]; bounded: ChunkHit[] } {
  const number = numbers(seed);
  const unseen = Math.floor(number() * 8);
  const known = Array.from({ length: 60 }, (_, i) => {
    const isFound = number() < 0.5;
    const bm25 = isFound ? unseen + Math.floor(number() * 20) : Math.floor(number() * (unseen + 1));
    return { id: `c${i}`, cosine: Math.floor(number() * 12) / 10 - 0.2, bm25, isBound: !isFound };
  });
  return { known, bounded: known.map((hit) => (hit.isBound ? { ...hit, bm25: unseen } : hit)) };
}

describe('rankHits', () => {
  const rank = (hits: readonly ChunkHit[], truth: readonly ChunkHit[], hybridWeight: number) => {
    const asked: string[][] = [];
    const best = rankHits(hits, {
      score: (hit) => scoreHit(hit, 'hybrid', hybridWeight),
      bm25Scores: async (ids) => {
        asked.push([...ids]);
        const matching = truth.filter(({ id, bm25 }) => ids.includes(id) && bm25 !== 0);
        return new Map(matching.map(({ id, bm25 }) => [id, bm25 ?? 0]));
      },
    });
    return { best, asked };
  };

  for (const hybridWeight of [0.2, 0.5]) {
    it(`ranks as with all scores known, and fetches fewer (hybridWeight ${hybridWeight})`, async () => {
      let asked = 0;
      let open = 0;
      for (let seed = 0; seed < SEARCHES; seed++) {
        const { known, bounded } = someHits(seed);
        const all = await rank(
          known.map((hit) => ({ ...hit, isBound: false })),
          known,
          hybridWeight,
        ).best(60);
        const found = rank(bounded, known, hybridWeight);
        const counts = [1 + (seed % 7), 10 + (seed % 11), 60];
        for (const count of counts) assert.deepEqual(await found.best(count), all.slice(0, count), `seed ${seed}`);
        const once = rank(bounded, known, hybridWeight);
        await once.best(5);
        assert.ok(once.asked.length <= 1);
        asked += once.asked.flat().length;
        open += bounded.filter(({ isBound }) => isBound).length;
      }
      assert.ok(asked < open / 2, `${asked} of ${open}`);
    });
  }

  it('fetches nothing when no bound reaches the results', async () => {
    const hits = [
      { id: 'a', cosine: 0.5, bm25: 30, isBound: false },
      { id: 'b', cosine: 0.4, bm25: 2, isBound: true },
      { id: 'c', cosine: 0.5, bm25: 20, isBound: false },
    ];
    const { best, asked } = rank(hits, [], 0.2);
    assert.deepEqual(
      (await best(2)).map(({ id }: ScoredHit) => id),
      ['a', 'c'],
    );
    assert.deepEqual(asked, []);
    assert.deepEqual(
      (await best(5)).map(({ id }) => id),
      ['a', 'c', 'b'],
    );
    assert.deepEqual(asked, [['b']]);
    await best(5);
    assert.deepEqual(asked, [['b']], 'a known score is not fetched again');
  });

  it('breaks ties by cosine similarity, then by id', async () => {
    const hit = (id: string, cosine: number) => ({ id, cosine, bm25: 0, isBound: false });
    const { best } = rank([hit('b', -0.3), hit('c', -0.1), hit('a', -0.3)], [], 0.2);
    assert.deepEqual(
      (await best(3)).map(({ id }) => id),
      ['c', 'a', 'b'],
    );
  });
});
