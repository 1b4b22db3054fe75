import '../../test/browser-globals.ts';

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_DAYS } from '../../../test/support/awkward.ts';
import { recordRequests } from '../../test/record-requests.ts';
import { csvLink, readUsage, USAGE_DAYS } from './usage-rows.ts';
import { parseUsageSearch } from './usage-search.ts';

const DAY_SECONDS = 86_400;

describe('the period of usage', () => {
  for (const days of USAGE_DAYS) {
    it(`of ${days} days begins with the first second of a UTC day, and ends today`, async (t) => {
      for (const { day, start, end } of AWKWARD_DAYS) {
        const first = start / 1000 - (days - 1) * DAY_SECONDS;
        for (const now of [start, start + 30 * 60_000, end - 1]) {
          t.mock.timers.enable({ apis: ['Date'], now });
          const requests = recordRequests(t);
          await readUsage(days, { bucket: 'day', group_by: 'key' });
          assert.deepEqual(
            requests.map(({ method, path, query }) => [method, path, query]),
            [['GET', '/v1/usage', { start_time: String(first), bucket: 'day', group_by: 'key' }]],
            day,
          );
          const link = new URL(csvLink(days, 'model', []), 'http://console.test');
          assert.equal(link.searchParams.get('start_time'), String(first));
          t.mock.reset();
          t.mock.timers.reset();
        }
      }
    });
  }

  it('is that of the keys that are compared, in the file too', () => {
    const { pathname, searchParams } = new URL(csvLink(7, 'key', ['key_1', 'usr_2']), 'http://console.test');
    const { start_time: _start, ...query } = Object.fromEntries(searchParams);
    assert.equal(pathname, '/v1/usage');
    const rows = { format: 'csv', bucket: 'day', group_by: 'key', limit: '10000' };
    assert.deepEqual(query, { ...rows, key_id: 'key_1,usr_2' });
    assert.ok(!csvLink(7, 'key', []).includes('key_id'));
  });

  it('is read from the address; values that the page does not offer are dropped', () => {
    const search = { days: 7, group: 'route', keys: 'key_1,key_2', measure: 'cost' };
    assert.deepEqual(parseUsageSearch(search), search);
    const none = { days: undefined, group: undefined, keys: undefined, measure: undefined };
    for (const days of [8, '7', 0, -7, null]) assert.deepEqual(parseUsageSearch({ days }), none);
    for (const keys of ['', ',', 'a b', 'a,', '"', 'a&limit=1', 7]) assert.deepEqual(parseUsageSearch({ keys }), none);
    assert.deepEqual(parseUsageSearch({ group: 'model,key', measure: 'constructor' }), none);
  });
});
