import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { toFilters } from './filters.ts';

describe('filters of a search', () => {
  const line = (field: string, value: string, operator: '$eq' | '$in' | '$gte' = '$eq') => ({
    id: 1,
    field,
    value,
    operator,
  });

  it('keep every metadata key and text', () => {
    for (const text of AWKWARD_TEXTS) {
      const filters = toFilters([[line(text, text), line('size', '7', '$gte')]]);
      const expected = new Map([
        [text, { $eq: text.trim() }],
        ['size', { $gte: 7 }],
      ]);
      assert.deepEqual(new Map(Object.entries(filters?.['metadata'] ?? {})), expected, text);
    }
  });

  it('read numbers and truth values, and quoted ones as texts', () => {
    const value = (text: string) => toFilters([[line('a', text)]])?.['metadata'];
    for (const [text, read] of [
      ['7', 7],
      ['-0.5', -0.5],
      ['1e3', '1e3'],
      ['007', 7],
      ['"7"', '7'],
      ['true', true],
      ['"true"', 'true'],
      ['TRUE', 'TRUE'],
    ] as const)
      assert.deepEqual(value(text), { a: { $eq: read } }, text);
  });

  it('join the lines of a group, and ask for one of several groups; lines without a value count for nothing', () => {
    assert.equal(toFilters([[line('', 'x'), line('a', ' ')], []]), undefined);
    const groups = [[line('document_name', 'a.md'), line('n', '1,2', '$in')], [line('b', 'c')]];
    assert.deepEqual(toFilters(groups), {
      $or: [{ document_name: 'a.md', metadata: { n: { $in: [1, 2] } } }, { metadata: { b: { $eq: 'c' } } }],
    });
  });
});
