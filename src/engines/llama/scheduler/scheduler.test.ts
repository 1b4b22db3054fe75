import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  admissionOrder,
  type ConstrainedSlot,
  overSamplingBudget,
  planStep as plan,
  type RunningJob,
  type SlotLoad,
  selectPreempted,
  type TokenShare,
  type WaitingJob,
} from './scheduler.ts';

const LIMITS = { maxBatchTokens: 512, maxPrefillTokensPerStep: 128 };
const planStep = (loads: SlotLoad[]): TokenShare[] => plan(loads, LIMITS);

const load = (slot: number, tokens: number, priority: SlotLoad['priority'] = 'interactive'): SlotLoad => ({
  slot,
  tokens,
  priority,
  waitedSteps: 0,
});

/** Deterministic pseudo-random numbers from 0 to `below` - 1. */
function randomFrom(start: number): (below: number) => number {
  let seed = start;
  return (below) => {
    seed = (seed * 16807) % 2147483647;
    return seed % below;
  };
}

describe('overSamplingBudget', () => {
  it('postpones no slot within the budget, and never all', () => {
    const below = randomFrom(7);
    for (let i = 0; i < 300; i++) {
      const answers: ConstrainedSlot[] = Array.from({ length: 1 + below(8) }, (_, slot) => ({
        slot,
        cost: 1 + below(60),
        waitedSteps: below(4),
      }));
      const left = overSamplingBudget(answers, 50);
      const taken = answers.filter(({ slot }) => !left.has(slot));
      const cost = taken.reduce((sum, answer) => sum + answer.cost, 0);
      assert.ok(taken.length > 0 && (cost <= 50 || taken.length === 1), JSON.stringify({ answers, taken }));
      if (answers.reduce((sum, answer) => sum + answer.cost, 0) <= 50) assert.equal(left.size, 0);
    }
  });
  it('serves the slot that waited longest first', () => {
    const answers = [40, 40, 45, 5, 60].map((cost, slot) => ({ slot, cost, waitedSteps: 0 }));
    const turns = new Map<number, number>();
    for (let step = 0; step < 50; step++) {
      const left = overSamplingBudget(answers, 50);
      for (const answer of answers) {
        if (!left.has(answer.slot)) turns.set(answer.slot, (turns.get(answer.slot) ?? 0) + 1);
        answer.waitedSteps = left.has(answer.slot) ? answer.waitedSteps + 1 : 0;
      }
    }
    for (const { slot } of answers) assert.ok((turns.get(slot) ?? 0) >= 8, `${slot}: ${turns.get(slot)}`);
  });
});

describe('planStep', () => {
  it('gives every running completion its token, in order of slot', () => {
    assert.deepEqual(
      planStep([load(2, 1), load(0, 1), load(1, 1)]),
      [0, 1, 2].map((slot) => ({ slot, tokens: 1 })),
    );
  });
  it('a prompt alone gets the whole step; with running completions it is bounded', () => {
    assert.deepEqual(planStep([load(0, 5000)]), [{ slot: 0, tokens: 512 }]);
    const [answer, prompt] = planStep([load(0, 1), load(1, 5000)]);
    assert.equal(answer?.tokens, 1);
    // llama.cpp computes one of them beside the decode token, and two whole tiles after it.
    assert.equal(prompt?.tokens, 129);
  });
  it('a short prompt goes before a long one, and interactive before batch', () => {
    assert.deepEqual(planStep([load(0, 5000), load(1, 20)]), [
      { slot: 0, tokens: 492 },
      { slot: 1, tokens: 20 },
    ]);
    assert.deepEqual(planStep([load(0, 5000, 'batch'), load(1, 600)]), [{ slot: 1, tokens: 512 }]);
  });
  it('gives prompts whole tiles, and those that got nothing come next', () => {
    const shares = (loads: SlotLoad[]) => planStep(loads).map(({ slot, tokens }) => [slot, tokens]);
    assert.deepEqual(shares([load(0, 1), load(1, 90), load(2, 900)]), [
      [0, 1],
      [1, 90],
    ]);
    assert.deepEqual(shares([load(0, 1), load(1, 890), { ...load(2, 900), waitedSteps: 1 }]), [
      [0, 1],
      [2, 129],
    ]);
  });
  it('batch work gets a tile after some steps full of interactive prompts', () => {
    const waiting = { ...load(0, 5_000, 'batch'), waitedSteps: 8 };
    assert.deepEqual(planStep([waiting, load(1, 600)]), [
      { slot: 0, tokens: 64 },
      { slot: 1, tokens: 448 },
    ]);
  });
  it('no starvation: every prompt ends, batch work too', () => {
    const random = randomFrom(7);
    for (let round = 0; round < 200; round++) {
      const limits = { maxBatchTokens: 16 + random(500), maxPrefillTokensPerStep: 8 + random(120) };
      const continues = load(0, 2 + random(400), random(2) === 0 ? 'batch' : 'interactive');
      for (let step = 0; continues.tokens > 1; step++) {
        assert.ok(step < 5_000, `${continues.tokens} tokens are left after ${step} steps`);
        // All other slots have new prompts of maximum size in each step.
        const others = Array.from({ length: 15 }, (_, i) => load(i + 1, random(3) === 0 ? 1 : 2 + random(9_000)));
        const share = plan([continues, ...others], limits).find(({ slot }) => slot === 0);
        continues.tokens -= share?.tokens ?? 0;
        continues.waitedSteps = share === undefined ? continues.waitedSteps + 1 : 0;
      }
    }
  });
  it('never exceeds a step or a slot, and never omits a running completion', () => {
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
        plan.toSorted((a, b) => a.slot - b.slot),
      );
      for (const { slot, tokens } of plan) assert.ok(tokens >= 1 && tokens <= (loads[slot]?.tokens ?? 0));
      for (const { slot, tokens } of loads) {
        if (tokens === 1) assert.ok(plan.some((share) => share.slot === slot));
      }
    }
  });
});

describe('admissionOrder', () => {
  const state = (slots: number, now: number, admittedAt: Record<string, number> = {}) => ({
    slots,
    now,
    admittedAt: new Map(Object.entries(admittedAt)),
  });
  const job = (scope: string, priority: WaitingJob['priority'] = 'interactive', since = 0): WaitingJob => ({
    scope,
    priority,
    since,
  });
  it('first come, first served within a scope; interactive before batch', () => {
    assert.deepEqual(admissionOrder([job('a', 'batch'), job('a'), job('a')], [], state(4, 1_000)), [1, 2, 0]);
  });
  it('a scope with many requests does not block others', () => {
    const running = [job('a'), job('a'), job('b')];
    assert.deepEqual(admissionOrder([job('a'), job('b'), job('c')], running, state(8, 1_000)), [2, 1, 0]);
  });
  it('scopes with equally many running jobs take turns, however many requests one has', () => {
    const jobs = [...Array(500).fill(job('a')), job('b'), job('c')];
    assert.deepEqual(admissionOrder(jobs, [], state(1, 0, { a: 7, b: 3 })).slice(0, 3), [501, 500, 0]);
    assert.deepEqual(admissionOrder(jobs, [job('c')], state(2, 0, { a: 7 })).slice(0, 2), [500, 0]);
  });
  it('batch work leaves the last slot to interactive requests', () => {
    const running = [job('a', 'batch'), job('b', 'batch'), job('c', 'batch')];
    assert.deepEqual(admissionOrder([job('a', 'batch')], running, state(4, 1_000)), []);
    assert.deepEqual(admissionOrder([job('a', 'batch')], running.slice(1), state(4, 1_000)), [0]);
    assert.deepEqual(admissionOrder([job('a', 'batch')], [], state(1, 1_000)), [0]);
  });
  it('batch work that waited long has the priority of interactive requests', () => {
    assert.deepEqual(admissionOrder([job('a', 'batch', 0), job('b')], [job('b')], state(4, 1_000)), [1, 0]);
    assert.deepEqual(admissionOrder([job('a', 'batch', 0), job('b')], [job('b')], state(4, 60_000)), [0, 1]);
  });
});

describe('selectPreempted', () => {
  const waiting = (...scopes: string[]): WaitingJob[] =>
    scopes.map((scope) => ({ scope, priority: 'interactive', since: 0 }));
  const job = (scope: string, changes: Partial<RunningJob> = {}): RunningJob => ({
    scope,
    priority: 'interactive',
    isPaused: false,
    ranMs: 0,
    resumeMs: 100,
    ...changes,
  });

  it('an organization gives way to one that has two jobs less, from the first moment', () => {
    assert.equal(selectPreempted(waiting('a', 'a', 'b'), [job('a'), job('a')]), 0);
    assert.equal(selectPreempted(waiting('b'), [job('a'), job('a'), job('b'), job('a')]), 0);
    assert.equal(selectPreempted(waiting('c'), [job('b'), job('a'), job('b')]), 0);
  });
  it('and to no other: neither to itself, nor to one that would have to give way in turn', () => {
    assert.equal(selectPreempted(waiting('a', 'a', 'a'), [job('a'), job('a'), job('a')]), null);
    assert.equal(selectPreempted(waiting('b'), [job('a'), job('a'), job('b')]), null);
    assert.equal(selectPreempted(waiting('c'), [job('a'), job('b')]), null);
    assert.equal(selectPreempted([], [job('a'), job('a')]), null);
  });
  it('does not alternate: after the exchange, nobody gives way', () => {
    for (const [a, b] of [
      [2, 0],
      [4, 0],
      [3, 1],
      [5, 2],
    ] as const) {
      const running = [...Array(a).fill(job('a')), ...Array(b).fill(job('b'))];
      const index = selectPreempted(waiting('b'), running);
      assert.ok(index !== null && running[index]?.scope === 'a');
      const after = running.with(index, job('b', { ranMs: 1e6 })).map((one) => ({ ...one, ranMs: 1e6 }));
      assert.equal(selectPreempted(waiting('a'), after), null, `${a} and ${b}`);
    }
  });
  it('the only job of an organization gives way after a while, which is long where it is costly to resume', () => {
    const only = (changes: Partial<RunningJob>) => selectPreempted(waiting('b'), [job('a', changes)]);
    assert.deepEqual([only({ ranMs: 999 }), only({ ranMs: 1_000 })], [null, 0]);
    assert.deepEqual([only({ ranMs: 1_999, resumeMs: 1_000 }), only({ ranMs: 2_000, resumeMs: 1_000 })], [null, 0]);
    assert.equal(only({ isPaused: true, resumeMs: 1_000 }), 0);
    assert.equal(selectPreempted(waiting('a'), [job('a', { ranMs: 1e6 })]), null);
  });
  it('interrupts a slow reader first, then batch work, then what is cheapest to resume; never what cannot be', () => {
    const paused = job('a', { isPaused: true, resumeMs: 900 });
    const batch = job('a', { priority: 'batch', resumeMs: 900 });
    const cheap = job('a', { resumeMs: 1 });
    const never = job('a', { resumeMs: null, isPaused: true });
    assert.equal(selectPreempted(waiting('b'), [never, cheap, batch, paused]), 3);
    assert.equal(selectPreempted(waiting('b'), [never, cheap, batch]), 2);
    assert.equal(selectPreempted(waiting('b'), [never, job('a'), cheap]), 2);
    assert.equal(selectPreempted(waiting('b'), [never, never]), null);
  });
  it('batch work interrupts nothing', () => {
    const batch = waiting('b').map((one) => ({ ...one, priority: 'batch' as const }));
    assert.equal(selectPreempted(batch, [job('a'), job('a')]), null);
    assert.equal(selectPreempted([...batch, ...waiting('c')], [job('a'), job('a')]), 0);
  });
});
