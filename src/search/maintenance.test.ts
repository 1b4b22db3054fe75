import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FLAT_ROWS, planMaintenance, type TableState } from './maintenance.ts';

const kept: TableState = {
  rows: 1000,
  deletedSinceBuild: 0,
  unindexedTerms: 0,
  unindexedVectors: null,
  vectorDeltas: 0,
  hasLookups: false,
  fragments: 1,
};
const large: TableState = { ...kept, rows: FLAT_ROWS, unindexedVectors: 0, vectorDeltas: 1, hasLookups: true };

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

  it('leaves up to a hundredth of the rows of a large table unindexed, and at most 2,000', () => {
    assert.deepEqual(planMaintenance({ ...kept, rows: FLAT_ROWS - 1, unindexedTerms: 1 }, false), ['optimize']);
    for (const [rows, pending] of [
      [FLAT_ROWS, 50],
      [1_000_000, 2000],
    ] as const) {
      const state = { ...large, rows, unindexedVectors: pending };
      assert.deepEqual(planMaintenance({ ...state, unindexedTerms: pending }, false), []);
      assert.deepEqual(planMaintenance({ ...state, unindexedTerms: pending + 1 }, false), ['optimize']);
    }
  });

  it('merges the parts of the vector index, and counts fragments that the parts keep apart as one each', () => {
    assert.deepEqual(planMaintenance({ ...large, vectorDeltas: 24, fragments: 48 }, false), []);
    assert.deepEqual(planMaintenance({ ...large, vectorDeltas: 24, fragments: 49 }, false), ['optimize']);
    assert.deepEqual(planMaintenance({ ...large, vectorDeltas: 25, fragments: 25 }, false), ['buildVectors']);
  });

  it('tolerates more of both in a large table during bulk writes', () => {
    const filling = { ...large, rows: 100_000 };
    assert.deepEqual(planMaintenance({ ...filling, unindexedTerms: 10_000, fragments: 97 }, true), []);
    assert.deepEqual(planMaintenance({ ...filling, unindexedTerms: 10_001 }, true), ['optimize']);
    assert.deepEqual(planMaintenance({ ...filling, fragments: 98 }, true), ['optimize']);
  });
});
