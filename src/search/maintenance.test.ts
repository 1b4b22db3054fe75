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
  it('indexes all rows when no more writes follow', () => {
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: 1 }, false), ['optimize']);
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: 1 }, true), []);
    assert.deepEqual(planMaintenance(kept, false), []);
  });

  it('does nothing for an up-to-date or empty table', () => {
    assert.deepEqual(planMaintenance(kept, true), []);
    assert.deepEqual(planMaintenance({ ...kept, rows: 0, unindexedTerms: null, fragments: 100 }, true), []);
  });

  it('builds a missing keyword index, and rebuilds it after a tenth of the rows was deleted', () => {
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: null }, true), ['buildTerms']);
    assert.deepEqual(planMaintenance({ ...kept, deletedSinceBuild: 100 }, true), []);
    assert.deepEqual(planMaintenance({ ...kept, deletedSinceBuild: 101 }, true), ['buildTerms']);
  });

  it('builds vector and scalar indexes above the size of flat search', () => {
    assert.deepEqual(planMaintenance({ ...kept, rows: FLAT_ROWS - 1 }, true), []);
    assert.deepEqual(planMaintenance({ ...kept, rows: FLAT_ROWS }, true), ['buildVectors', 'buildLookups']);
    assert.deepEqual(planMaintenance(large, true), []);
  });

  it('optimizes with many unindexed rows or fragments', () => {
    assert.deepEqual(planMaintenance({ ...kept, unindexedTerms: 2001 }, true), ['optimize']);
    assert.deepEqual(planMaintenance({ ...kept, fragments: 25 }, false), ['optimize']);
  });

  it('tolerates more of both in a large table during bulk writes', () => {
    const filling = { ...large, rows: 100_000 };
    assert.deepEqual(planMaintenance({ ...filling, unindexedTerms: 10_000, fragments: 96 }, true), []);
    assert.deepEqual(planMaintenance({ ...filling, unindexedTerms: 10_001 }, true), ['optimize']);
    assert.deepEqual(planMaintenance({ ...filling, fragments: 97 }, true), ['optimize']);
  });
});
