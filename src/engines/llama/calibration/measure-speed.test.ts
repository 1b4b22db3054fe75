import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calibrate } from './calibration.ts';
import { type MeasureOptions, measure, type TimeStep, threadCandidates } from './measure-speed.ts';

/** A simulated machine whose steps cost `cost` on a clock of its own. */
function simulated(cost: (threads: number, tokens: number) => number) {
  let clock = 0;
  let steps = 0;
  const time: TimeStep = async ({ threads, tokens }) => {
    const took = cost(threads, tokens);
    clock += took;
    steps += 1;
    return took;
  };
  const run = (changes: Partial<MeasureOptions> = {}) =>
    measure(time, { threads: [1, 2, 4], slots: 16, budgetMs: 1_500, now: () => clock, ...changes });
  return { run, clock: () => clock, steps: () => steps };
}

const limits = { threads: null, slots: null };

describe('measure', () => {
  it('finds the threads and times every size, within the budget, on a small model', async () => {
    const machine = simulated((threads, tokens) => 0.5 + (threads === 1 ? 0.2 : 0.3) * tokens);
    const times = await machine.run();
    assert.ok(machine.clock() <= 1_500);
    assert.deepEqual(
      times
        .filter((time) => time.threads === 1)
        .map((time) => time.tokens)
        .sort((a, b) => a - b),
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    );
    assert.equal(calibrate(times, limits).threads, 1);
  });
  it('chooses more threads for a larger model', async () => {
    const machine = simulated((threads, tokens) => (20 + 2 * tokens) / threads);
    const times = await machine.run();
    assert.ok(machine.clock() <= 1_600, `${machine.clock()} ms`);
    const chosen = calibrate(times, limits);
    assert.equal(chosen.threads, 4);
    assert.ok(chosen.prefillTokensPerSecond !== null);
  });
  it('stops at thread counts that contend, and does not choose them', async () => {
    const machine = simulated((threads, tokens) => (threads === 1 ? 1 + 0.2 * tokens : 900));
    const times = await machine.run();
    assert.ok(times.every((time) => time.threads === 1) && times.length >= 5);
    assert.ok(machine.clock() <= 2_500, `${machine.clock()} ms`);
  });
  it('measures each thread count once where a step takes seconds', async () => {
    const machine = simulated((threads, tokens) => (8_000 * (1 + tokens / 100)) / threads);
    const times = await machine.run();
    assert.equal(machine.steps(), 4);
    assert.equal(calibrate(times, limits).threads, 4);
  });
  it('takes the minimum of several runs', async () => {
    let call = 0;
    const machine = simulated((_, tokens) => (0.5 + 0.1 * tokens) * (call++ % 3 === 0 ? 5 : 1));
    for (const { tokens, milliseconds } of await machine.run({ threads: [1] })) {
      assert.equal(milliseconds, 0.5 + 0.1 * tokens);
    }
  });
  it('compares powers of two up to the cores, and all of them; or only the configured number', () => {
    assert.deepEqual(threadCandidates(null, 1), [1]);
    assert.deepEqual(threadCandidates(null, 2), [1, 2]);
    assert.deepEqual(threadCandidates(null, 6), [1, 2, 4, 6]);
    assert.deepEqual(threadCandidates(null, 16), [1, 2, 4, 8, 16]);
    assert.deepEqual(threadCandidates(3, 16), [3]);
  });
});
