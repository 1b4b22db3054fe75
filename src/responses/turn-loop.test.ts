import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endOfTurn, FILE_SEARCH, type LoopRules, planTurn } from './turn-loop.ts';

const rules: LoopRules = {
  maxTurns: 10,
  maxSearches: null,
  toolChoice: 'required',
  hasSearch: true,
  hasFunctions: false,
  searchesFirst: false,
};
const auto = { offersSearch: true, offersFunctions: false, toolChoice: 'auto' } as const;

describe('planTurn', () => {
  it('applies the tool choice of the request to the first call only', () => {
    assert.equal(planTurn(rules, { turns: 0, queries: [] }).toolChoice, 'required');
    assert.equal(planTurn(rules, { turns: 1, queries: ['a'] }).toolChoice, 'auto');
  });

  it('lets the model answer after a repeated search, at the search limit, and in the last turn', () => {
    assert.equal(planTurn(rules, { turns: 2, queries: ['When is it open?', 'when is  it OPEN?'] }).toolChoice, 'none');
    assert.equal(planTurn({ ...rules, maxSearches: 1 }, { turns: 1, queries: ['a'] }).toolChoice, 'none');
    assert.equal(planTurn({ ...rules, maxTurns: 2 }, { turns: 1, queries: ['a'] }).toolChoice, 'none');
    const mixed = { ...rules, maxTurns: 2, hasFunctions: true };
    assert.equal(planTurn(mixed, { turns: 1, queries: ['a'] }).toolChoice, 'auto');
  });

  it('makes a small model search first and then answer, unless tools are forbidden or a function is named', () => {
    const small = { ...rules, toolChoice: 'auto', searchesFirst: true } as const;
    const start = { turns: 0, queries: [] };
    assert.deepEqual(planTurn(small, start).toolChoice, { name: FILE_SEARCH });
    assert.equal(planTurn(small, { turns: 1, queries: ['a'] }).toolChoice, 'none');
    assert.equal(planTurn({ ...small, hasFunctions: true }, start).toolChoice, 'required');
    assert.equal(planTurn({ ...small, toolChoice: 'none' }, start).toolChoice, 'none');
    assert.deepEqual(planTurn({ ...small, hasFunctions: true, toolChoice: { name: 'f' } }, start).toolChoice, {
      name: 'f',
    });
  });
});

describe('endOfTurn', () => {
  const state = { turns: 1, queries: ['a'] };
  const end = { reason: 'tool_calls', searches: 1, functionCalls: 0 } as const;

  it('continues after searches, and ends with function calls or an answer', () => {
    assert.equal(endOfTurn(rules, state, auto, end), null);
    assert.deepEqual(endOfTurn(rules, state, auto, { ...end, functionCalls: 2 }), { status: 'completed' });
    assert.deepEqual(endOfTurn(rules, state, auto, { ...end, searches: 0 }), { status: 'completed' });
  });

  it('names why a response is incomplete', () => {
    const reason = (...[given, at, plan, ended]: Parameters<typeof endOfTurn>) => {
      const outcome = endOfTurn(given, at, plan, ended);
      return outcome?.status === 'incomplete' ? outcome.reason : outcome;
    };
    const none = { ...auto, toolChoice: 'none' } as const;
    assert.equal(reason(rules, { ...state, turns: 10 }, auto, end), 'max_turns');
    assert.equal(reason(rules, { turns: 3, queries: ['a', 'a', 'a'] }, none, end), 'repeated_search');
    assert.equal(reason({ ...rules, maxSearches: 1 }, { turns: 2, queries: ['a', 'b'] }, none, end), 'max_tool_calls');
    assert.equal(reason(rules, state, auto, { ...end, reason: 'length', searches: 0 }), 'max_output_tokens');
    assert.equal(reason(rules, state, auto, { ...end, reason: 'content_filter' }), 'content_filter');
  });
});
