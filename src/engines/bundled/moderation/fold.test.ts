import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fold } from './fold.ts';

describe('fold', () => {
  it('reads a letter under any number of marks, in whatever order, as the letter', () => {
    for (const count of [1, 17, 20_000]) assert.equal(fold(`k${'\u0301\u0323'.repeat(count)}ill`), 'kill');
  });
});
