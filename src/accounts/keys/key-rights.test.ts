import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findExcessRight, type KeyRights } from './key-rights.ts';

const DEFAULTS = { requestsPerMinute: 100, tokensPerMinute: null, concurrent: 10 };
const NONE = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };
const own = (rights: Partial<KeyRights> = {}): KeyRights => ({
  scopes: ['files', 'keys'],
  models: null,
  knowledgeBaseIds: null,
  limits: null,
  budget: null,
  expiresAt: null,
  ...rights,
});
const excess = (wanted: Partial<KeyRights>, mine: Partial<KeyRights> = {}) =>
  findExcessRight(own({ ...mine, ...wanted }), own(mine), DEFAULTS)?.param ?? null;

describe('rights that a key may give to another', () => {
  it('scopes: those that it has itself', () => {
    assert.equal(excess({ scopes: ['files'] }), null);
    assert.equal(excess({ scopes: ['keys', 'inference'] }), 'scopes.1');
    assert.equal(excess({ scopes: ['admin'] }), 'scopes.0');
  });

  it('models: those that it may use itself', () => {
    assert.equal(excess({ models: ['a'] }), null);
    assert.equal(excess({ models: ['a'] }, { models: ['a', 'b'] }), null);
    assert.equal(excess({ models: ['a', 'c'] }, { models: ['a', 'b'] }), 'models.1');
    assert.equal(excess({ models: null }, { models: ['a'] }), 'models');
  });

  it('knowledge bases: only the ones that it may use itself', () => {
    const mine = { knowledgeBaseIds: ['a', 'b'] };
    assert.equal(excess({ knowledgeBaseIds: ['a'] }), null);
    assert.equal(excess({ knowledgeBaseIds: ['b'] }, mine), null);
    assert.equal(excess({ knowledgeBaseIds: ['a', 'c'] }, mine), 'knowledge_base_ids.1');
    assert.equal(excess({ knowledgeBaseIds: null }, mine), 'knowledge_base_ids');
  });

  it('limits: up to its own, or the default', () => {
    assert.equal(excess({ limits: { ...NONE, requestsPerMinute: 100 } }), null);
    assert.equal(excess({ limits: { ...NONE, requestsPerMinute: 101 } }), 'limits.requests_per_minute');
    assert.equal(excess({ limits: { ...NONE, tokensPerMinute: 5 } }), null);
    const limits = { ...NONE, requestsPerMinute: 5, tokensPerMinute: 7 };
    assert.equal(excess({ limits }, { limits }), null);
    assert.equal(excess({ limits: null }, { limits }), 'limits.requests_per_minute');
    assert.equal(excess({ limits: { ...limits, tokensPerMinute: 8 } }, { limits }), 'limits.tokens_per_minute');
    assert.equal(excess({ limits: { ...limits, concurrent: 11 } }, { limits }), 'limits.concurrent');
    const raised = { ...NONE, requestsPerMinute: 500 };
    assert.equal(excess({ limits: { ...NONE, requestsPerMinute: 500 } }, { limits: raised }), null);
  });

  it('budget: an amount up to its own, in the same period or a longer one', () => {
    const budget = (period: 'day' | 'month' | 'total', limitMicros: number) => ({
      period,
      limitMicros,
      softLimitMicros: null,
    });
    const mine = { budget: budget('month', 100) };
    assert.equal(excess({ budget: budget('day', 1) }), null);
    assert.equal(excess({ budget: budget('month', 100) }, mine), null);
    assert.equal(excess({ budget: budget('total', 100) }, mine), null);
    assert.equal(excess({ budget: budget('month', 101) }, mine), 'budget');
    assert.equal(excess({ budget: budget('day', 4) }, mine), 'budget');
    assert.equal(excess({ budget: null }, mine), 'budget');
  });

  it('expiry: not after its own', () => {
    const mine = { expiresAt: new Date(1000) };
    assert.equal(excess({ expiresAt: new Date(1000) }, mine), null);
    assert.equal(excess({ expiresAt: new Date(1001) }, mine), 'expires_at');
    assert.equal(excess({ expiresAt: null }, mine), 'expires_at');
    assert.equal(excess({ expiresAt: new Date(1) }), null);
  });
});
