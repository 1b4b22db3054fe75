import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  admissionOrder,
  type ConstrainedAnswer,
  overSamplingBudget,
  planStep as plan,
  type SequenceLoad,
  type SequenceShare,
  type WaitingJob,
} from './scheduler.ts';

const LIMITS = { stepTokens: 512, besideAnswers: 128 };
const planStep = (loads: SequenceLoad[]): SequenceShare[] => plan(loads, LIMITS);

const load = (sequence: number, tokens: number, priority: SequenceLoad['priority'] = 'interactive'): SequenceLoad => ({
  sequence,
  tokens,
  priority,
  waited: 0,
});

/** Numbers from 0 to `below` - 1, the same ones every time. */
function randomFrom(start: number): (below: number) => number {
  let seed = start;
  return (below) => {
    seed = (seed * 16807) % 2147483647;
    return seed % below;
  };
}

describe('overSamplingBudget', () => {
  it('leaves nobody out within the budget, and never everybody', () => {
    const below = randomFrom(7);
    for (let i = 0; i < 300; i++) {
      const answers: ConstrainedAnswer[] = Array.from({ length: 1 + below(8) }, (_, sequence) => ({
        sequence,
        cost: 1 + below(60),
        waited: below(4),
      }));
      const left = overSamplingBudget(answers, 50);
      const taken = answers.filter(({ sequence }) => !left.has(sequence));
      const cost = taken.reduce((sum, answer) => sum + answer.cost, 0);
      assert.ok(taken.length > 0 && (cost <= 50 || taken.length === 1), JSON.stringify({ answers, taken }));
      if (answers.reduce((sum, answer) => sum + answer.cost, 0) <= 50) assert.equal(left.size, 0);
    }
  });
  it('lets everyone have a turn: who waits longest comes first', () => {
    const answers = [40, 40, 45, 5, 60].map((cost, sequence) => ({ sequence, cost, waited: 0 }));
    const turns = new Map<number, number>();
    for (let step = 0; step < 50; step++) {
      const left = overSamplingBudget(answers, 50);
      for (const answer of answers) {
        if (!left.has(answer.sequence)) turns.set(answer.sequence, (turns.get(answer.sequence) ?? 0) + 1);
        answer.waited = left.has(answer.sequence) ? answer.waited + 1 : 0;
      }
    }
    for (const { sequence } of answers)
      assert.ok((turns.get(sequence) ?? 0) >= 8, `${sequence}: ${turns.get(sequence)}`);
  });
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
    // Of which llama.cpp computes one beside the answer's token, and two whole tiles after it.
    assert.equal(prompt?.tokens, 129);
  });
  it('a short prompt is not kept by a long one, and interactive goes before batch', () => {
    assert.deepEqual(planStep([load(0, 5000), load(1, 20)]), [
      { sequence: 0, tokens: 492 },
      { sequence: 1, tokens: 20 },
    ]);
    assert.deepEqual(planStep([load(0, 5000, 'batch'), load(1, 600)]), [{ sequence: 1, tokens: 512 }]);
  });
  it('gives no prompt less than a tile of what is left of it, and who got nothing comes next', () => {
    const shares = (loads: SequenceLoad[]) => planStep(loads).map(({ sequence, tokens }) => [sequence, tokens]);
    assert.deepEqual(shares([load(0, 1), load(1, 90), load(2, 900)]), [
      [0, 1],
      [1, 90],
    ]);
    assert.deepEqual(shares([load(0, 1), load(1, 890), { ...load(2, 900), waited: 1 }]), [
      [0, 1],
      [2, 129],
    ]);
  });
  it('batch work gets a tile after some steps in which interactive prompts took all', () => {
    const waiting = { ...load(0, 5_000, 'batch'), waited: 8 };
    assert.deepEqual(planStep([waiting, load(1, 600)]), [
      { sequence: 0, tokens: 64 },
      { sequence: 1, tokens: 448 },
    ]);
  });
  it('nobody starves: whatever else arrives, every prompt ends, batch work too', () => {
    const random = randomFrom(7);
    for (let round = 0; round < 200; round++) {
      const limits = { stepTokens: 16 + random(500), besideAnswers: 8 + random(120) };
      const own = load(0, 2 + random(400), random(2) === 0 ? 'batch' : 'interactive');
      for (let step = 0; own.tokens > 1; step++) {
        assert.ok(step < 5_000, `${own.tokens} tokens are left after ${step} steps`);
        // Everyone else is new in each step, with as much as there can be.
        const others = Array.from({ length: 15 }, (_, i) => load(i + 1, random(3) === 0 ? 1 : 2 + random(9_000)));
        const share = plan([own, ...others], limits).find(({ sequence }) => sequence === 0);
        own.tokens -= share?.tokens ?? 0;
        own.waited = share === undefined ? own.waited + 1 : 0;
      }
    }
  });
  it('never plans more than a step holds or than a sequence has, and never nothing for a running answer', () => {
    const random = randomFrom(1);
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

describe('admissionOrder', () => {
  const job = (scope: string, priority: WaitingJob['priority'] = 'interactive', since = 0): WaitingJob => ({
    scope,
    priority,
    since,
  });
  it('first come, first served within a scope; interactive before batch', () => {
    assert.deepEqual(admissionOrder([job('a', 'batch'), job('a'), job('a')], [], 4, 1_000), [1, 2, 0]);
  });
  it('a scope with many requests does not keep the others out', () => {
    const running = [job('a'), job('a'), job('b')];
    assert.deepEqual(admissionOrder([job('a'), job('b'), job('c')], running, 8, 1_000), [2, 1, 0]);
  });
  it('batch work leaves the last of several sequences to interactive requests', () => {
    const running = [job('a', 'batch'), job('b', 'batch'), job('c', 'batch')];
    assert.deepEqual(admissionOrder([job('a', 'batch')], running, 4, 1_000), []);
    assert.deepEqual(admissionOrder([job('a', 'batch')], running.slice(1), 4, 1_000), [0]);
    assert.deepEqual(admissionOrder([job('a', 'batch')], [], 1, 1_000), [0]);
  });
  it('batch work that has waited long takes its turn beside interactive requests', () => {
    assert.deepEqual(admissionOrder([job('a', 'batch', 0), job('b')], [job('b')], 4, 1_000), [1, 0]);
    assert.deepEqual(admissionOrder([job('a', 'batch', 0), job('b')], [job('b')], 4, 60_000), [0, 1]);
  });
});
