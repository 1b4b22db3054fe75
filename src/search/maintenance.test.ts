import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FLAT_ROWS, planMaintenance, type TableState } from './maintenance.ts';

const kept: TableState = {
  rows: 1000,
  deletedSinceBuild: 0,
  unindexedTerms: 0,
  unindexedVectors: null,
  hasLookups: false,
  fragments: 1,
};
const large: TableState = { ...kept, rows: FLAT_ROWS, unindexedVectors: 0, hasLookups: true };

describe('planMaintenance', () => {
  it('leaves no row outside of the keyword index once nothing more is written', () => {
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: 1 }, false), ['optimize']);
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: 1 }, true), []);
    assert.deepEqual(planMaintenance(kept, false), []);
  });

  it('leaves a table alone that needs nothing, and one that is empty', () => {
    assert.deepEqual(planMaintenance(kept, true), []);
    assert.deepEqual(planMaintenance({ ...kept, rows: 0, unindexedTerms: null, fragments: 100 }, true), []);
  });

  it('builds the keyword index where there is none, and again after a tenth of the rows was deleted', () => {
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: null }, true), ['buildTerms']);
    assert.deepEqual(planMaintenance({ ...kept, deletedSinceBuild: 100 }, true), []);
    assert.deepEqual(planMaintenance({ ...kept, deletedSinceBuild: 101 }, true), ['buildTerms']);
  });

  it('builds indexes of vectors, ids and labels only where looking at all of them is slower', () => {
    assert.deepEqual(planMaintenance({ ...kept, rows: FLAT_ROWS - 1 }, true), []);
    assert.deepEqual(planMaintenance({ ...kept, rows: FLAT_ROWS }, true), ['buildVectors', 'buildLookups']);
    assert.deepEqual(planMaintenance(large, true), []);
  });

  it('compacts when many rows are outside of the indexes, or in many pieces', () => {
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: 2001 }, true), ['optimize']);
    assert.deepEqual(planMaintenance({ ...kept, fragments: 25 }, false), ['optimize']);
  });

  it('bears more of both in a large table that is being filled: bringing it up to date costs the more the larger it is', () => {
    const filling = { ...large, rows: 100_000 };
    assert.deepEqual(planMaintenance({ ...filling, unindexedTerms: 10_000, fragments: 96 }, true), []);
    assert.deepEqual(planMaintenance({ ...filling, unindexedTerms: 10_001 }, true), ['optimize']);
    assert.deepEqual(planMaintenance({ ...filling, fragments: 97 }, true), ['optimize']);
  });
});
