import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseRetryAfter } from './retry-after.ts';

it('parseRetryAfter reads seconds and dates, which may have passed, and nothing else', (t) => {
  t.mock.method(Date, 'now', () => 4_000);
  const cases: [header: string | null | undefined, milliseconds: number | null][] = [
    ['7', 7_000],
    [' 0 ', 0],
    ['0.5', 500],
    ['-3', 0],
    ['Thu, 01 Jan 1970 00:00:10 GMT', 6_000],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
    ['soon', null],
    ['', null],
    [' ', null],
    [null, null],
    [undefined, null],
  ];
  for (const [header, milliseconds] of cases) assert.equal(parseRetryAfter(header), milliseconds, `'${header}'`);
});
