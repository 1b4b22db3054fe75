import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadConfig } from '../config/config.ts';
import { parseRateLimits } from './parse-rate-limits.ts';

const NONE = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };

describe('QUIRE_RATE_LIMITS', () => {
  it('sets all limits, some of them, or none', () => {
    assert.deepEqual(parseRateLimits('requests=6000,tokens=4000000,concurrent=256'), {
      requestsPerMinute: 6_000,
      tokensPerMinute: 4_000_000,
      concurrent: 256,
    });
    assert.deepEqual(parseRateLimits(' tokens = 5 '), { ...NONE, tokensPerMinute: 5 });
    assert.deepEqual(parseRateLimits('off'), NONE);
  });

  it('has a default', () => {
    const { rateLimits } = loadConfig({});
    assert.deepEqual(rateLimits, { requestsPerMinute: 6_000, tokensPerMinute: 4_000_000, concurrent: 256 });
  });

  for (const text of [
    'requests',
    'requests=',
    'requests=0',
    'requests=-1',
    'requests=1.5',
    'rps=5',
    'on',
    'tokens=1,',
  ]) {
    it(`stops the start for ${text}`, () => {
      assert.throws(
        () => loadConfig({ QUIRE_RATE_LIMITS: text }),
        /^OperatorError: QUIRE_RATE_LIMITS has a wrong value: it must be 'off' or parts such as 'requests=6000.* It is "/,
      );
    });
  }

  it('stops the start for a part that is set twice and for one that is too large', () => {
    assert.throws(() => loadConfig({ QUIRE_RATE_LIMITS: 'requests=1,requests=2' }), /must set 'requests' only once/);
    assert.throws(() => loadConfig({ QUIRE_RATE_LIMITS: 'tokens=1000000001' }), /from 1 to 1000000000/);
  });
});
