import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CreditShare } from './credit-share.ts';

const exactly = (micros: number) => ({ minMicros: micros, maxMicros: micros });

/** A share with a lease. */
function leased(micros: number): CreditShare {
  const share = new CreditShare({ id: 'org_1', budget: null }, { isHeld: () => true });
  share.beginExtension([]);
  share.endExtension({ leasedMicros: micros, spentMicros: 0 });
  return share;
}

describe('CreditShare', () => {
  it('reserves up to its lease; a settled cost is gone, the rest is free again', () => {
    const share = leased(100);
    assert.equal(share.reserve(exactly(60)), 60);
    assert.equal(share.reserve(exactly(41)), null);
    assert.equal(share.reserveRest({ minMicros: 1, maxMicros: 50 }), 40);
    share.settle(60, 10);
    assert.equal(share.reserve(exactly(51)), null);
    assert.equal(share.reserve(exactly(50)), 50);
  });

  it('reserves nothing while its lease is extended: what is free belongs to the calls that wait', () => {
    const share = leased(100);
    share.isExtending = true;
    assert.equal(share.reserve(exactly(1)), null);
  });

  it('counts costs against a lease that was extended meanwhile: the statement may not have seen them', () => {
    const share = leased(100);
    share.reserve(exactly(30));
    share.beginExtension([]);
    share.settle(30, 20);
    share.endExtension({ leasedMicros: 200, spentMicros: 0 });
    assert.equal(share.reserve(exactly(181)), null);
    assert.equal(share.reserve(exactly(180)), 180);
  });

  it('gives back what the recent calls did not need, and nothing that is reserved', () => {
    const share = leased(100);
    share.reserve(exactly(30));
    share.reserve(exactly(20));
    share.settle(20, 5);
    assert.equal(share.giveBack(), 55);
    assert.equal(share.giveBack(), 30);
    assert.equal(share.giveBack(), null, 'all of it is needed');
    share.limit(0);
    assert.equal(share.reserve(exactly(1)), null, 'a lost lease');
    assert.equal(share.giveBack(), 0);
    assert.equal(share.beginExtension([]), 30, 'reservations need their part of the next lease');
  });

  it('has no more than its lease in the database', () => {
    for (const [leasedMicros, left] of [
      [0, 0],
      [20, 20],
      [60, 60],
    ] as const) {
      const share = leased(100);
      share.reserve(exactly(60));
      share.settle(60, 0);
      assert.equal(share.giveBack(), 60);
      share.limit(leasedMicros);
      assert.equal(share.reserve(exactly(left + 1)), null);
      assert.equal(share.reserve(exactly(left)), left);
    }
  });

  it('reserves nothing while its process may count as ended', () => {
    const share = new CreditShare({ id: 'org_1', budget: null }, { isHeld: () => false });
    share.endExtension({ leasedMicros: 100, spentMicros: 0 });
    assert.equal(share.reserve(exactly(1)), null);
  });
});
