import assert from 'node:assert/strict';
import { it } from 'node:test';
import { onlyRepeatsItems } from './validate.ts';

it('excuses repeated items only where they are not enumerated and nothing else is wrong', () => {
  const list = (items: object) => ({
    id: 'urn:draft-4',
    type: 'object',
    properties: { a: { uniqueItems: true, items } },
  });
  assert.equal(onlyRepeatsItems(list({ type: 'string' }), { a: ['x', 'x'] }), true);
  assert.equal(onlyRepeatsItems(list({ type: 'string' }), { a: ['x', 'x', 1] }), false);
  assert.equal(onlyRepeatsItems(list({ type: 'string' }), { a: ['x', 'y'] }), false);
  for (const items of [{ enum: ['x', true] }, { type: 'boolean' }, [{}, {}]]) {
    assert.equal(onlyRepeatsItems(list(items), { a: [true, true] }), false);
  }
});
