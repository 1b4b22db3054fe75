import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calibrate, fastestThreads, type StepTime } from './calibration.ts';

const NONE = { threads: null, slots: null };

/** Times of a machine on which a step takes `base` milliseconds plus `each` per token. */
function machine(base: number, each: number, threads = 1): StepTime[] {
  const decodeSteps = [1, 2, 4, 8, 16].map((count) => ({ slots: count, tokens: count }));
  const prefillSteps = [32, 64, 128, 256, 512].map((tokens) => ({ slots: 16, tokens }));
  return [...decodeSteps, ...prefillSteps].map((step) => ({
    threads,
    ...step,
    milliseconds: base + each * step.tokens,
  }));
}

describe('calibrated thread count', () => {
  const timed = (...milliseconds: [threads: number, one: number, many: number][]): StepTime[] =>
    milliseconds.flatMap(([threads, one, many]) => [
      { threads, slots: 1, tokens: 1, milliseconds: one },
      { threads, slots: 16, tokens: 64, milliseconds: many },
    ]);

  it('is the fastest over all kinds of steps', () => {
    assert.equal(fastestThreads(timed([1, 40, 400], [2, 21, 210], [4, 12, 130])), 4);
    // Measured on two virtual cores: waking the second thread costs more than it computes.
    assert.equal(fastestThreads(timed([1, 0.59, 9.39], [2, 2.53, 8.24])), 1);
  });
  it('is the smaller of two that are nearly as fast', () => {
    assert.equal(fastestThreads(timed([1, 40, 400], [2, 20, 200], [4, 19.5, 197])), 2);
  });
  it('compares only kinds that were measured with every count', () => {
    const times = timed([1, 40, 400], [2, 20, 200]).slice(0, 3);
    assert.equal(fastestThreads(times), 2);
    assert.equal(fastestThreads([]), null);
  });
  it('is the configured value', () => {
    assert.equal(calibrate(machine(1, 1), { ...NONE, threads: 3 }).threads, 3);
  });
});

describe('calibrated slots', () => {
  const slots = (times: StepTime[], limits: object = {}) => calibrate(times, { ...NONE, ...limits }).slots;

  it('grows while total throughput increases', () => {
    assert.equal(slots(machine(40, 0.5)), 16);
    const stalls = machine(40, 0.5).map((time) =>
      time.slots === 16 && time.tokens === 16 ? { ...time, milliseconds: 120 } : time,
    );
    assert.equal(slots(stalls), 8);
  });
  it('is at least four without a speedup, and the maximum where steps stay short', () => {
    assert.equal(slots(machine(0, 40)), 4);
    assert.equal(slots(machine(0, 0.25)), 16);
  });
  it('is the configured value or what memory allows', () => {
    assert.equal(slots(machine(0, 40), { slots: 40 }), 40);
  });
});

describe('calibrated step size', () => {
  it('is the smallest with nearly the best prefill speed', () => {
    const { maxBatchTokens, prefillTokensPerSecond } = calibrate(machine(20, 1), NONE);
    assert.equal(maxBatchTokens, 256);
    assert.equal(prefillTokensPerSecond, Math.round((256 / 276) * 1000));
  });
  it('is not smaller than steps that take hardly any time', () => {
    assert.equal(calibrate(machine(0.01, 0.05), NONE).maxBatchTokens, 512);
  });
  it('bounds the duration of a step', () => {
    assert.equal(calibrate(machine(1000, 10), NONE).maxBatchTokens, 32);
    assert.equal(calibrate(machine(100, 2), NONE).maxBatchTokens, 128);
  });
  it('keeps running completions fluent during prefill', () => {
    for (const [base, each] of [
      [0.5, 0.2],
      [5, 0.5],
    ] as const) {
      const { maxPrefillTokensPerStep, slots } = calibrate(machine(base, each), NONE);
      const step = base + each * (slots + maxPrefillTokensPerStep);
      assert.ok(step <= 100 + each, `${step} ms`);
      assert.ok(maxPrefillTokensPerStep >= 8 && maxPrefillTokensPerStep % 8 === 0);
    }
  });
  it('uses whole tiles where their delay is acceptable, and smaller parts otherwise', () => {
    assert.equal(calibrate(machine(2, 1.4), NONE).maxPrefillTokensPerStep, 64);
    assert.equal(calibrate(machine(2, 12), NONE).maxPrefillTokensPerStep, 8);
  });
  it('lets prefill proceed where decode steps alone exceed the limit', () => {
    const { maxPrefillTokensPerStep, slots } = calibrate(machine(120, 1), NONE);
    const decodeSteps = 120 + slots;
    assert.ok(maxPrefillTokensPerStep > 8);
    assert.ok(120 + slots + maxPrefillTokensPerStep <= 1.5 * decodeSteps + 1);
  });
  it('is at least one token per slot, and not larger with running completions than alone', () => {
    const chosen = calibrate(machine(1000, 10), { ...NONE, slots: 100 });
    assert.equal(chosen.maxBatchTokens, 100);
    assert.ok(chosen.maxPrefillTokensPerStep <= chosen.maxBatchTokens);
  });
});

describe('without measurements', () => {
  it('the defaults hold', () => {
    assert.deepEqual(calibrate([], NONE), {
      threads: 1,
      slots: 4,
      maxBatchTokens: 512,
      maxPrefillTokensPerStep: 128,
      prefillTokensPerSecond: null,
    });
    const one = calibrate([{ threads: 8, slots: 1, tokens: 1, milliseconds: 3_000 }], NONE);
    assert.deepEqual([one.threads, one.slots, one.maxPrefillTokensPerStep], [8, 4, 128]);
  });
});
