import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTime } from './restore.ts';

describe('the time of a restore', () => {
  const TIMES: [text: string, instant: string][] = [
    ['2026-11-23T10:00:00Z', '2026-11-23T10:00:00.000Z'],
    ['2026-11-23T10:00Z', '2026-11-23T10:00:00.000Z'],
    ['2026-11-23T10:00:00.5Z', '2026-11-23T10:00:00.500Z'],
    ['2026-11-23T10:00:00.123999Z', '2026-11-23T10:00:00.123Z'],
    ['2026-11-23T10:00:00+00:00', '2026-11-23T10:00:00.000Z'],
    ['2026-11-23T00:30:00+14:00', '2026-11-22T10:30:00.000Z'],
    ['2026-12-31T23:59:59.999-05:45', '2027-01-01T05:44:59.999Z'],
    ['2024-02-29T23:00:00+01:00', '2024-02-29T22:00:00.000Z'],
    // The hour that summer time skips in Berlin exists: the offset decides.
    ['2026-03-29T02:30:00+01:00', '2026-03-29T01:30:00.000Z'],
  ];
  for (const [text, instant] of TIMES) {
    it(`accepts ${text}`, () => assert.equal(new Date(parseTime(text)).toISOString(), instant));
  }

  const REJECTED = [
    '',
    'now',
    'yesterday',
    '1795428000000',
    '2026-11-23',
    '2026-11-23T10:00:00',
    '2026-11-23 10:00:00Z',
    '2026-11-23T10:00:00 Z',
    '2026-11-23T10:00:00z',
    '2026-11-23T10Z',
    '2026-11-23T10:00:00.Z',
    '2026-11-23T10:00:00+0100',
    '2026-11-23T10:00:00+01',
    '2026-11-23T10:00:00+24:00',
    '2026-11-23T10:00:00 Europe/Berlin',
    '2026-11-23T10:00:00Z\n',
    '2026-11-23T25:00:00Z',
    '2026-11-23T23:60:00Z',
    '2026-11-23T23:59:60Z',
    '2026-13-01T10:00:00Z',
    '2026-00-10T10:00:00Z',
    '2026-11-31T10:00:00Z',
    '2026-02-29T10:00:00Z',
    '+002026-11-23T10:00:00Z',
  ];
  for (const text of REJECTED) {
    it(`rejects ${JSON.stringify(text)} and shows the form`, () => {
      assert.throws(() => parseTime(text), {
        name: 'InvalidArgumentError',
        message: 'Expected a time with its zone, such as 2026-11-23T10:00:00Z.',
      });
    });
  }
});
