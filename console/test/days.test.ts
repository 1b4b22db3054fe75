import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { toAuditQuery } from '../src/pages/audit-filter.ts';
import { NEW_KEY, toFields, toProperties } from '../src/pages/key-properties.ts';
import type { ApiKey } from '../src/pages/keys.tsx';

/** Local days with the instants at which they begin and end. Days on which clocks change have 23 or 25 hours. */
const LOCAL_DAYS = [
  { zone: 'UTC', day: '2026-03-10', start: '2026-03-10T00:00:00Z', end: '2026-03-11T00:00:00Z' },
  { zone: 'UTC', day: '2026-12-31', start: '2026-12-31T00:00:00Z', end: '2027-01-01T00:00:00Z' },
  { zone: 'UTC', day: '2028-02-29', start: '2028-02-29T00:00:00Z', end: '2028-03-01T00:00:00Z' },
  { zone: 'Europe/Berlin', day: '2026-03-29', start: '2026-03-28T23:00:00Z', end: '2026-03-29T22:00:00Z' },
  { zone: 'Europe/Berlin', day: '2026-10-25', start: '2026-10-24T22:00:00Z', end: '2026-10-25T23:00:00Z' },
  { zone: 'America/New_York', day: '2026-11-01', start: '2026-11-01T04:00:00Z', end: '2026-11-02T05:00:00Z' },
  { zone: 'Asia/Kathmandu', day: '2026-01-31', start: '2026-01-30T18:15:00Z', end: '2026-01-31T18:15:00Z' },
];
const seconds = (instant: string) => Date.parse(instant) / 1000;
const { TZ } = process.env;

describe('days of the browser', () => {
  after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });

  for (const { zone, day, start, end } of LOCAL_DAYS) {
    it(`${day} in ${zone}: the audit log shows all of it, and a key works until its end`, () => {
      process.env.TZ = zone;
      const query = toAuditQuery({ from: day, to: day });
      assert.deepEqual(query, { start_time: seconds(start), end_time: seconds(end) });
      const expiresAt = toProperties({ ...NEW_KEY, expires: day }, NEW_KEY).expires_at;
      assert.equal(expiresAt, seconds(end) - 1);
      const key = { name: 'k', scopes: [], models: null, limits: null, budget: null, expires_at: expiresAt };
      assert.equal(toFields(key as unknown as ApiKey).expires, day);
    });
  }

  it('a day that is being typed filters nothing', () => {
    for (const from of ['', '2026', '2026-01', '0002-01-31', '0202-01-31', 'x'])
      assert.deepEqual(toAuditQuery({ from }), {});
    assert.deepEqual(toAuditQuery({ action: 'api_key.created', actor: 'key_1', resource: 'kb_1' }), {
      action: 'api_key.created',
      actor: 'key_1',
      resource_id: 'kb_1',
    });
  });
});
