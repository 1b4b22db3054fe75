import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GenerationUsage } from '../engines/engine.ts';
import { clampUsage } from './clamp-usage.ts';

const ODD = [0, -0, 1, 7, 0.5, 7.9, -1, -0.5, 1e9, 2 ** 31, 2 ** 53, 1e300, -1e300, Number.NaN, Infinity, -Infinity];

describe('clampUsage', () => {
  it('leaves usage that makes sense as it is', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 16807) % 2147483647;
      return seed % below;
    };
    for (let round = 0; round < 1_000; round += 1) {
      const promptTokens = random(200_000);
      const usage = { promptTokens, cachedTokens: random(promptTokens + 1), completionTokens: random(200_000) };
      assert.deepEqual(clampUsage(usage), usage);
    }
  });

  it('never has a cached token more than the prompt, none below zero, and no part of one, whatever is told', () => {
    for (const promptTokens of ODD) {
      for (const cachedTokens of ODD) {
        for (const completionTokens of ODD) {
          const sound = clampUsage({ promptTokens, cachedTokens, completionTokens });
          const told = JSON.stringify([promptTokens, cachedTokens, completionTokens, sound]);
          for (const count of Object.values(sound)) {
            assert.ok(Number.isInteger(count) && !Object.is(count, -0) && count >= 0 && count < 2 ** 31, told);
          }
          assert.ok(sound.cachedTokens <= sound.promptTokens, told);
          assert.deepEqual(clampUsage(sound), sound);
        }
      }
    }
  });

  it('has at most as many reasoning tokens as completion tokens, and none where none are reported', () => {
    const clamp = (reasoningTokens: number) =>
      clampUsage({ promptTokens: 1, cachedTokens: 0, completionTokens: 9, reasoningTokens }).reasoningTokens;
    for (const [reported, clamped] of [
      [0, 0],
      [9, 9],
      [10, 9],
      [-1, 0],
      [Number.NaN, 0],
      [Infinity, 0],
    ] as const) {
      assert.equal(clamp(reported), clamped);
    }
    assert.ok(!('reasoningTokens' in clampUsage({ promptTokens: 1, cachedTokens: 0, completionTokens: 9 })));
  });

  it('takes what is not a number as 0', () => {
    const told = { promptTokens: '12', cachedTokens: null, completionTokens: undefined } as unknown as GenerationUsage;
    assert.deepEqual(clampUsage(told), { promptTokens: 0, cachedTokens: 0, completionTokens: 0 });
  });
});
