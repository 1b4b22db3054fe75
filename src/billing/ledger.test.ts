import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import type { Database } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import { createLogger } from '../lib/logger.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { Ledger } from './ledger.ts';
import { usageRecords } from './tables.ts';

function record(completionTokens: number): UsageRecord {
  return {
    id: newId('usage'),
    organizationId: 'org_1',
    keyId: 'key_1',
    requestId: 'req_1',
    endpoint: '/v1/chat/completions',
    model: 'it\'s "quoted" \\ \u{1f600}',
    promptTokens: 3,
    cachedTokens: 1,
    completionTokens,
    searches: 2,
    rerankUnits: 5,
    costMicros: 5_000_000_000,
    durationMs: 34,
    queueMs: 0,
    firstTokenMs: null,
    isCacheHit: null,
    finishReason: 'stop',
    isBatch: true,
    outcome: 'completed',
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
  };
}

/** Counts the statements of the database; each fails while `failures` is positive. */
function watched(db: Database, failures = 0): { db: Database; statements: () => number } {
  let statements = 0;
  const prepare: Database['prepare'] = (name, statement) => {
    const run = db.prepare(`${name}_${newId('usage')}`, statement);
    return (parameter) => {
      statements += 1;
      return statements <= failures ? Promise.reject(new Error('the database is away')) : run(parameter);
    };
  };
  return { db: { ...db, prepare }, statements: () => statements };
}

/** Two event loop turns: a record is written one turn after it arrives. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
}

describe('Ledger', () => {
  const logger = createLogger('silent');
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  it('stores every field of a record', async () => {
    const written = record(7);
    await new Ledger(db, logger).record(written);
    const rows = await db.sql.select().from(usageRecords);
    assert.deepEqual(rows, [{ ...written, chargedMicros: 0 }]);
  });

  it('writes concurrent records in few statements, durable when their promises resolve', async () => {
    const { db: counted, statements } = watched(db);
    const ledger = new Ledger(counted, logger);
    await Promise.all(Array.from({ length: 1000 }, (_, at) => ledger.record(record(at))));
    assert.equal((await db.sql.select().from(usageRecords)).length, 1001);
    assert.equal(statements(), 2, '512 records and the others');
  });

  it('retries a failed write without duplicates', async () => {
    const before = (await db.sql.select().from(usageRecords)).length;
    const { db: failing } = watched(db, 1);
    const twice = record(1);
    const ledger = new Ledger(failing, logger);
    await Promise.all([ledger.record(twice), ledger.record(twice), ledger.record(record(2))]);
    assert.equal((await db.sql.select().from(usageRecords)).length, before + 2);
  });

  it('flush resolves only when everything recorded before is durable', async () => {
    const before = (await db.sql.select().from(usageRecords)).length;
    const ledger = new Ledger(db, logger);
    const writes = [ledger.record(record(1)), ledger.record(record(2))];
    await ledger.flush();
    assert.equal((await db.sql.select().from(usageRecords)).length, before + 2);
    await Promise.all(writes);
    await ledger.flush();
  });

  it('backs off between retries, rejects the records after the last one, and continues with later records', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { db: failing, statements } = watched(db, 4);
    const ledger = new Ledger(failing, logger);
    const failed = assert.rejects(ledger.record(record(1)), /away/);
    for (const [tries, delayMs] of [50, 250, 1_000].entries()) {
      await settled();
      t.mock.timers.tick(delayMs - 1);
      await settled();
      assert.equal(statements(), tries + 1);
      t.mock.timers.tick(1);
    }
    await failed;
    assert.equal(statements(), 4);
    // A mocked `clearTimeout` would leave a timer of the pool running, which holds the process for 10 s.
    t.mock.timers.reset();
    await ledger.record(record(2));
  });
});
