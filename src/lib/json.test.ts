import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isRecord, parseJson } from './json.ts';

describe('parseJson', () => {
  it('returns every value of JSON, and undefined for other texts', () => {
    for (const value of [null, false, 0, '', [], {}]) assert.deepEqual(parseJson(JSON.stringify(value)), value);
    for (const text of ['', ' ', 'undefined', '{"a":1', '{} {}', '\ufeff{}', 'NaN'])
      assert.equal(parseJson(text), undefined);
  });
});

describe('isRecord', () => {
  it('accepts objects only', () => {
    for (const value of [{}, Object.create(null), new Date()]) assert.ok(isRecord(value));
    for (const value of [null, undefined, [], '{}', 1]) assert.ok(!isRecord(value));
  });
});
