import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachLocalDay } from '../../test/local-days.ts';
import { toAuditQuery } from './audit-filter.ts';

describe('the filter of the audit log', () => {
  it('shows all of a local day', () => {
    forEachLocalDay(({ zone, day, start, end }) =>
      assert.deepEqual(toAuditQuery({ from: day, to: day }), { start_time: start, end_time: end }, `${day} in ${zone}`),
    );
  });

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
