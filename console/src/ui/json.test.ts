import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseJson } from './json.ts';

it('parseJson returns values of the kind, and null for the others and for invalid JSON', () => {
  assert.deepEqual([parseJson('{"a": [1]}', 'object'), parseJson('[1]', 'array')], [{ a: [1] }, [1]]);
  for (const text of ['', ' ', '{', 'null', '1', '"a"', '[1]']) assert.equal(parseJson(text, 'object'), null, text);
  for (const text of ['', '{}', 'null', '"[]"']) assert.equal(parseJson(text, 'array'), null, text);
  assert.deepEqual([parseJson('"a"'), parseJson(' [1] '), parseJson('{a}')], ['a', [1], null]);
});
