import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pickSequence, planStep, type SequenceLoad } from './schedule.ts';

const load = (sequence: number, tokens: number, priority: SequenceLoad['priority'] = 'interactive'): SequenceLoad => ({
  sequence,
  tokens,
  priority,
});

describe('planStep', () => {
  it('gives every running answer its token, in order of sequence', () => {
    assert.deepEqual(
      planStep([load(2, 1), load(0, 1), load(1, 1)]),
      [0, 1, 2].map((sequence) => ({ sequence, tokens: 1 })),
    );
  });
  it('a prompt alone gets the whole step; beside an answer it is bounded', () => {
    assert.deepEqual(planStep([load(0, 5000)]), [{ sequence: 0, tokens: 512 }]);
    const [answer, prompt] = planStep([load(0, 1), load(1, 5000)]);
    assert.equal(answer?.tokens, 1);
    assert.ok(prompt !== undefined && prompt.tokens > 0 && prompt.tokens <= 128);
  });
  it('a short prompt is not kept by a long one, and interactive goes before batch', () => {
    assert.deepEqual(planStep([load(0, 5000), load(1, 20)]), [
      { sequence: 0, tokens: 492 },
      { sequence: 1, tokens: 20 },
    ]);
    assert.deepEqual(planStep([load(0, 5000, 'batch'), load(1, 600)]), [{ sequence: 1, tokens: 512 }]);
  });
  it('never plans more than a step holds or than a sequence has, and never nothing for a running answer', () => {
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 16807) % 2147483647;
      return seed % below;
    };
    for (let round = 0; round < 2_000; round++) {
      const loads = Array.from({ length: 1 + random(16) }, (_, i) =>
        load(i, random(2) === 0 ? 1 : 1 + random(900), random(4) === 0 ? 'batch' : 'interactive'),
      );
      const plan = planStep(loads);
      assert.ok(plan.reduce((sum, { tokens }) => sum + tokens, 0) <= 512);
      assert.ok(plan.length > 0);
      assert.deepEqual(
        plan,
        plan.toSorted((a, b) => a.sequence - b.sequence),
      );
      for (const { sequence, tokens } of plan) assert.ok(tokens >= 1 && tokens <= (loads[sequence]?.tokens ?? 0));
      for (const { sequence, tokens } of loads) {
        if (tokens === 1) assert.ok(plan.some((share) => share.sequence === sequence));
      }
    }
  });
});

describe('pickSequence', () => {
  const held = [
    { sequence: 0, scope: 'a', tokens: [1, 2, 3, 4] },
    { sequence: 1, scope: 'b', tokens: [1, 2, 3, 4, 5, 6] },
    { sequence: 2, scope: 'a', tokens: [1, 9] },
  ];
  it('takes the longest beginning of the same scope', () => {
    assert.deepEqual(pickSequence(held, 'a', [1, 2, 3, 8]), { sequence: 0, reused: 3 });
    assert.deepEqual(pickSequence(held, 'b', [1, 2, 3, 4, 5, 6, 7]), { sequence: 1, reused: 6 });
  });
  it('never uses what another scope holds', () => {
    assert.deepEqual(pickSequence(held, 'c', [1, 2, 3, 4, 5]), { sequence: 2, reused: 0 });
  });
  it('always leaves the last token to compute', () => {
    assert.deepEqual(pickSequence(held, 'a', [1, 2, 3, 4]), { sequence: 0, reused: 3 });
  });
  it('null when none is free', () => assert.equal(pickSequence([], 'a', [1]), null));
});
