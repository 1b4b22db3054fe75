import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineJob, resizeSlots } from './define-job.ts';

describe('resizeSlots', () => {
  const limits = { name: 'kind', retries: 0, retrySeconds: 0 };
  for (const [concurrency, perGroup] of [
    [1, 1],
    [2, 1],
    [3, 2],
    [16, 2],
    [64, 8],
  ] as const) {
    it(`gives a group ${perGroup} of ${concurrency} slots where the default is 2 of 16`, () => {
      const resized = resizeSlots(defineJob({ ...limits, concurrency: 16, perGroup: 2 }), concurrency);
      assert.deepEqual([resized.concurrency, resized.perGroup], [concurrency, perGroup]);
    });
  }

  it('leaves a slot to other groups where the default has no limit', () => {
    const resized = resizeSlots(defineJob({ ...limits, concurrency: 4 }), 8);
    assert.deepEqual([resized.concurrency, resized.perGroup], [8, 7]);
  });
});
