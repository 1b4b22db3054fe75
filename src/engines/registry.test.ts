import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scriptedEngine, servedModel } from '../../test/scripted-engine.ts';
import { contextTokensOf } from './registry.ts';

describe('contextTokensOf', () => {
  it('is the smaller of the contract and the engine, and the contract where nothing generates', () => {
    assert.equal(contextTokensOf(servedModel(scriptedEngine(4096), 8192)), 4096);
    assert.equal(contextTokensOf(servedModel(scriptedEngine(8192), 4096)), 4096);
    assert.equal(contextTokensOf({ ...servedModel(scriptedEngine(1024), 4096), engine: null }), 4096);
  });
});
