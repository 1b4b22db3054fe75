import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findMonth, forecastMonth } from './forecast.ts';

const at = (text: string) => Date.parse(`${text}Z`);
const day = (text: string, costMicros: number) => ({ start: at(`${text}T00:00:00`), costMicros });

describe('findMonth', () => {
  it('is a calendar month in UTC, also at its bounds, in leap years and at the end of the year', () => {
    const iso = (text: string) => {
      const { start, end } = findMonth(at(text));
      return [start, end].map((time) => new Date(time).toISOString().slice(0, 10));
    };
    assert.deepEqual(iso('2026-11-30T23:59:59.999'), ['2026-11-01', '2026-12-01']);
    assert.deepEqual(iso('2026-12-01T00:00:00.000'), ['2026-12-01', '2027-01-01']);
    assert.deepEqual(iso('2028-02-29T12:00:00.000'), ['2028-02-01', '2028-03-01']);
  });
});

describe('forecastMonth', () => {
  const cases: [string, ReturnType<typeof day>[], string, number | null][] = [
    [
      'goes on with the average of the complete days',
      [day('2026-11-01', 100), day('2026-11-02', 200)],
      '2026-11-03T06:00:00',
      4_500,
    ],
    ['counts days without usage as days', [day('2026-11-01', 300)], '2026-11-04T00:00:00', 3_000],
    [
      'counts what today costs above the average',
      [day('2026-11-01', 100), day('2026-11-02', 500)],
      '2026-11-02T12:00:00',
      3_400,
    ],
    ['has the days of a leap February', [day('2028-02-01', 100)], '2028-02-02T00:00:00', 2_900],
    ['has the days of a February without leap day', [day('2027-02-01', 100)], '2027-02-02T00:00:00', 2_800],
    ['takes the passed part of the first day', [day('2026-11-01', 50)], '2026-11-01T12:00:00', 3_000],
    ['concludes nothing from less than an hour', [day('2026-11-01', 50)], '2026-11-01T00:59:59.999', null],
    ['concludes from an hour', [day('2026-11-01', 50)], '2026-11-01T01:00:00', 36_000],
    [
      'equals the spend at the end of the last day',
      [day('2026-11-01', 2_900), day('2026-11-30', 700)],
      '2026-11-30T23:59:59',
      3_600,
    ],
    ['is 0 without data', [], '2026-11-15T00:00:00', 0],
    ['is 0 without data on the first day', [], '2026-11-01T05:00:00', 0],
    [
      'leaves out other months',
      [day('2026-10-31', 999), day('2026-12-01', 999), day('2026-11-01', 10)],
      '2026-11-02T00:00:00',
      300,
    ],
  ];
  for (const [name, days, now, expected] of cases) {
    it(name, () => assert.equal(forecastMonth(days, at(now)), expected));
  }
});
