import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SHUTDOWN_ORDER } from './shutdown-order.ts';

describe('SHUTDOWN_ORDER', () => {
  const place = (part: (typeof SHUTDOWN_ORDER)[number]) => SHUTDOWN_ORDER.indexOf(part);

  it('ends calls and jobs before the engines, and flushes usage after both and before the database closes', () => {
    const order = (['api', 'worker', 'engine', 'ledger', 'database', 'data folder'] as const).map(place);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.equal(place('data folder'), SHUTDOWN_ORDER.length - 1);
  });
});
