import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../lib/ids.ts';
import { findRow } from './find-row.ts';

describe('findRow', () => {
  const isNotFound = { status: 404, code: 'data_source_not_found', param: 'ds_id' };

  it('returns the row of the id', async () => {
    assert.equal(await findRow('dataSource', newId('dataSource'), 'ds_id', async () => 'row'), 'row');
  });

  it('throws 404 naming the parameter when there is no row', async () => {
    const id = newId('dataSource');
    await assert.rejects(
      findRow('dataSource', id, 'ds_id', async () => null),
      isNotFound,
    );
  });

  for (const id of ['', 'ds_', newId('document'), `${newId('dataSource')}\0`, `${newId('dataSource')} `, 'DS_1']) {
    it(`throws 404 for ${JSON.stringify(id)} without a query`, async () => {
      await assert.rejects(
        findRow('dataSource', id, 'ds_id', () => assert.fail('queried')),
        isNotFound,
      );
    });
  }
});
