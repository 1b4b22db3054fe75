import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../errors.ts';
import { parseFilters } from './parse-filters.ts';

describe('parseFilters', () => {
  it('accepts every filter and operator', () => {
    const conditions = parseFilters({
      document_id: 'doc_1',
      document_name: 'a.pdf',
      source_type: 'web_crawl',
      metadata: {
        lang: 'en',
        tags: ['a', 'b'],
        open: true,
        year: { $gte: 2020, $lt: 2024 },
        day: { $gt: '2024-05-01' },
        x: { $ne: 1 },
        y: { $in: [] },
      },
    });
    assert.deepEqual(conditions, [
      { on: 'document_id', value: 'doc_1' },
      { on: 'document_name', value: 'a.pdf' },
      { on: 'source_type', value: 'web_crawl' },
      { on: 'field', key: 'lang', is: 'in', values: ['en'] },
      { on: 'field', key: 'tags', is: 'in', values: ['a', 'b'] },
      { on: 'field', key: 'open', is: 'in', values: [true] },
      { on: 'field', key: 'year', is: 'gte', value: 2020 },
      { on: 'field', key: 'year', is: 'lt', value: 2024 },
      { on: 'field', key: 'day', is: 'gt', value: '2024-05-01' },
      { on: 'field', key: 'x', is: 'notIn', values: [1] },
      { on: 'field', key: 'y', is: 'in', values: [] },
    ]);
  });

  it('$or holds groups of which one must match', () => {
    const groups = [{ document_id: 'doc_1', metadata: { year: 1 } }, { metadata: { year: { $gt: 2 } } }];
    assert.deepEqual(parseFilters({ source_type: 's3', $or: groups }), [
      { on: 'source_type', value: 's3' },
      {
        on: 'any',
        groups: [
          [
            { on: 'document_id', value: 'doc_1' },
            { on: 'field', key: 'year', is: 'in', values: [1] },
          ],
          [{ on: 'field', key: 'year', is: 'gt', value: 2 }],
        ],
      },
    ]);
  });

  const refused: [what: string, filters: Record<string, unknown>, param: string][] = [
    ['an empty $or', { $or: [] }, 'filters.$or'],
    ['an $or of 17 groups', { $or: Array(17).fill({ document_id: 'a' }) }, 'filters.$or'],
    ['an empty group', { $or: [{}] }, 'filters.$or.0'],
    ['an $or in a group', { $or: [{ $or: [{ document_id: 'a' }] }] }, 'filters.$or.0.$or'],
    ['an invalid filter of a group', { $or: [{ document_id: 'a' }, { x: 1 }] }, 'filters.$or.1.x'],
    [
      'too many values in all groups',
      { $or: Array(3).fill({ metadata: { x: { $in: Array(900).fill('a') } } }) },
      'filters.$or',
    ],
    ['an unknown filter', { documentname: 'a' }, 'filters.documentname'],
    ['a document id that is no text', { document_id: 7 }, 'filters.document_id'],
    ['an unknown source type', { source_type: 'ftp' }, 'filters.source_type'],
    ['metadata that is no object', { metadata: ['a'] }, 'filters.metadata'],
    ['an unknown operator', { metadata: { a: { $regex: 'x' } } }, 'filters.metadata.a.$regex'],
    ['no operator', { metadata: { a: {} } }, 'filters.metadata.a'],
    ['null', { metadata: { a: null } }, 'filters.metadata.a'],
    ['an order of texts', { metadata: { a: { $gt: 'b' } } }, 'filters.metadata.a.$gt'],
    ['a date that is none', { metadata: { a: { $lt: '2024-13-01' } } }, 'filters.metadata.a.$lt'],
    ['a day that no month has', { metadata: { a: { $gte: '2024-02-30' } } }, 'filters.metadata.a.$gte'],
    ['$in without a list', { metadata: { a: { $in: 'b' } } }, 'filters.metadata.a.$in'],
    ['a list of objects', { metadata: { a: { $in: ['b', {}] } } }, 'filters.metadata.a.$in.1'],
    [
      'more than 2,000 values in all',
      { metadata: { a: Array(1000).fill(1), b: { $ne: Array(1000).fill(1) }, c: 1 } },
      'filters.metadata',
    ],
    ['more than 1,000 values', { metadata: { a: { $in: Array(1001).fill(1) } } }, 'filters.metadata.a.$in'],
  ];
  for (const [what, filters, param] of refused) {
    it(`400 naming ${param} for ${what}`, () => {
      assert.throws(
        () => parseFilters(filters),
        (error: unknown) => error instanceof ApiError && error.status === 400 && error.param === param,
      );
    });
  }
});
