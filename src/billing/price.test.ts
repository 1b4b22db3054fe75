import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pricing } from '../engines/registry.ts';
import { affordableTokens, costMicros } from './price.ts';

const tokens = (promptTokens: number, cachedTokens = 0, completionTokens = 0) => ({
  promptTokens,
  cachedTokens,
  completionTokens,
});
const price = (prompt: number, completion: number, unit: Pricing['unit'] = 'per_1k_tokens'): Pricing => ({
  prompt,
  completion,
  unit,
});

describe('costMicros', () => {
  it('bills prompt and completion tokens at their prices', () => {
    assert.equal(costMicros(tokens(1_000, 0, 1_000), price(0.0006, 0.0008)), 1_400);
    assert.equal(costMicros(tokens(1_000_000, 0, 1_000_000), price(2, 3, 'per_1m_tokens')), 5_000_000);
  });

  it('bills cached prompt tokens at one tenth, and not a second time', () => {
    assert.equal(costMicros(tokens(1_000, 1_000), price(0.001, 0)), 100);
    assert.equal(costMicros(tokens(1_000, 400), price(0.001, 0)), 640);
  });

  it('bills lines of batches at one half', () => {
    assert.equal(costMicros(tokens(1_000, 400, 100), price(0.001, 0.002), true), 420);
  });

  it('rounds up once, and nothing costs nothing', () => {
    assert.equal(costMicros(tokens(1), price(0.0001, 0)), 1);
    assert.equal(costMicros(tokens(1, 1, 1), price(0.0001, 0.0001)), 1);
    assert.equal(costMicros(tokens(10), price(0.0001, 0)), 1);
    assert.equal(costMicros(tokens(11), price(0.0001, 0)), 2);
    assert.equal(costMicros(tokens(0), price(1, 1)), 0);
    assert.equal(costMicros(tokens(1_000_000), price(0, 0)), 0);
  });

  it('is exact where binary fractions are not', () => {
    // 0.1 + 0.2 in binary is more than 0.3, which would round up to another micro.
    assert.equal(costMicros(tokens(1_000, 0, 1_000), price(0.1, 0.2)), 300_000);
    assert.equal(costMicros(tokens(3), price(0.7, 0)), 2_100);
    assert.equal(costMicros(tokens(2 ** 40), price(0.000000001, 0, 'per_1m_tokens')), 1_100);
  });

  it('never falls when tokens are added, and never costs less than all tokens cached', () => {
    let seed = 3;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    for (let round = 0; round < 500; round += 1) {
      const pricing = price(random(1000) / 1e6, random(1000) / 1e6);
      const prompt = random(100_000);
      const cached = random(prompt + 1);
      const completion = random(10_000);
      const cost = costMicros(tokens(prompt, cached, completion), pricing);
      assert.ok(Number.isInteger(cost));
      assert.ok(cost <= costMicros(tokens(prompt + 1, cached, completion), pricing));
      assert.ok(cost <= costMicros(tokens(prompt, cached, completion + 1), pricing));
      assert.ok(cost >= costMicros(tokens(prompt, prompt, completion), pricing));
      assert.ok(costMicros(tokens(prompt, cached, completion), pricing, true) >= Math.floor(cost / 2));
      assert.ok(costMicros(tokens(prompt, cached, completion), pricing, true) <= Math.ceil(cost / 2));
    }
  });
});

describe('affordableTokens', () => {
  it('is the largest number of completion tokens that costs at most the amount', () => {
    for (const pricing of [price(0.0001, 0.0002), price(0.6, 0.0007, 'per_1m_tokens'), price(0, 0.333333333)]) {
      for (const isBatch of [false, true]) {
        for (const [micros, promptTokens] of [
          [100, 7],
          [12_345, 999],
          [1, 1],
        ] as const) {
          const affordable = affordableTokens(micros, promptTokens, pricing, isBatch) ?? 0;
          const cost = (completion: number) => costMicros(tokens(promptTokens, 0, completion), pricing, isBatch);
          if (affordable > 0) assert.ok(cost(affordable) <= micros);
          assert.ok(cost(affordable + 1) > micros, `${affordable} tokens for ${micros} micros`);
        }
      }
    }
  });

  it('is null when completions are free, and 0 when the prompt costs more', () => {
    assert.equal(affordableTokens(1, 5, price(0, 0)), null);
    assert.equal(affordableTokens(1, 1_000_000, price(1, 1)), 0);
  });
});
