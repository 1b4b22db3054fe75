import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foldText } from './fold-text.ts';

describe('foldText', () => {
  it('removes any number of marks, in any order', () => {
    for (const count of [1, 17, 20_000]) assert.equal(foldText(`k${'\u0301\u0323'.repeat(count)}ill`), 'kill');
  });
});
