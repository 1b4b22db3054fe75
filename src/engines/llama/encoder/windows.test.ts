import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evenWindows, overlappingWindows } from './windows.ts';

describe('evenWindows', () => {
  it('covers every token once with the fewest windows of nearly equal size', () => {
    for (const length of [1, 9, 10, 11, 99, 100, 101, 2_048]) {
      const spans = evenWindows(length, 10);
      assert.equal(spans.length, Math.ceil(length / 10));
      let end = 0;
      for (const { from, to } of spans) {
        assert.equal(from, end);
        assert.ok(to - from <= 10 && to - from >= Math.floor(length / spans.length));
        end = to;
      }
      assert.equal(end, length);
    }
  });
  it('is one empty window for no tokens', () => assert.deepEqual(evenWindows(0, 10), [{ from: 0, to: 0 }]));
});

describe('overlappingWindows', () => {
  it('covers every token, and each window of a long text shares a quarter with the next', () => {
    for (const length of [0, 1, 99, 100, 101, 175, 176, 1_000, 4_321]) {
      const spans = overlappingWindows(length, 100);
      assert.equal(spans[0]?.from, 0);
      assert.equal(spans.at(-1)?.to, length);
      spans.slice(1).forEach(({ from, to }, i) => {
        assert.equal(to - from, 100);
        assert.ok((spans[i]?.to ?? 0) - from >= 25, `${length}: ${JSON.stringify(spans)}`);
      });
    }
  });
  it('spreads 64 windows over a text that needs more', () => {
    const spans = overlappingWindows(1_000_000, 100);
    assert.deepEqual([spans.length, spans[0]?.from, spans.at(-1)?.to], [64, 0, 1_000_000]);
    assert.ok(spans.every(({ from, to }) => to - from === 100));
  });
  it('terminates for windows of one token', () => assert.equal(overlappingWindows(5, 1).length, 5));
});
