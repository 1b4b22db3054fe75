import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { Registry } from 'prom-client';
import { useApi } from '../../test/harness.ts';
import { usageRecords } from '../billing/tables.ts';
import { FailedStatement } from '../db/failed-statement.ts';
import { newId } from '../lib/ids.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { insertLines, type LineResult } from './line-store.ts';
import { insertRanges, startRun } from './range-store.ts';
import { ResultWriter, recordLeftUsage } from './result-writer.ts';
import { insertBatch } from './store.ts';
import { batches, batchLines } from './tables.ts';

/** The first run of the first range. */
const runOf = (batchId: string) => ({ batchId, range: 0, run: 1 });

describe('results of batch lines', () => {
  const api = useApi();

  /** Inserts a running batch of two lines. */
  const makeBatch = async () => {
    const id = newId('batch');
    const at = new Date();
    await insertBatch(api.db.sql, {
      id,
      organizationId: 'org_1',
      caller: { ...CALLER },
      endpoint: '/v1/embeddings',
      inputFileId: 'file-1',
      status: 'in_progress',
      metadata: {},
      errors: null,
      outputFileId: null,
      errorFileId: null,
      totalLines: 2,
      completedLines: 0,
      failedLines: 0,
      costMicros: 0,
      ...{ promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
      ...{ outputExpirySeconds: null, model: null },
      createdAt: at,
      expiresAt: at,
      inProgressAt: at,
      finalizingAt: null,
      completedAt: null,
      failedAt: null,
      expiredAt: null,
      cancellingAt: null,
      cancelledAt: null,
    });
    const line = { batchId: id, start: 0, bytes: 1, weight: 1, orderKey: '' };
    const lines = [1, 2].map((n) => ({ ...line, line: n, id: newId('batchLine'), customId: String(n) }));
    await insertLines(api.db.sql, lines);
    await insertRanges(api.db.sql, id, [[1, 2]]);
    await startRun(api.db.sql, id, 0);
    return id;
  };
  const CALLER = {
    organizationId: 'org_1',
    keyId: 'key_1',
    scopes: [],
    models: null,
    limits: null,
    organizationLimits: null,
    budget: null,
  };
  const makeRecord = (): UsageRecord => ({
    id: newId('usage'),
    organizationId: 'org_1',
    keyId: 'key_1',
    requestId: newId('request'),
    endpoint: '/v1/embeddings',
    model: 'embed-large-en-v1.5',
    promptTokens: 5,
    cachedTokens: 0,
    completionTokens: 0,
    searches: 0,
    rerankUnits: 0,
    costMicros: 3,
    durationMs: 1,
    queueMs: 0,
    firstTokenMs: null,
    finishReason: null,
    isBatch: true,
    isCacheHit: false,
    outcome: 'completed',
    createdAt: new Date(),
  });
  const resultOf = (line: number, record: UsageRecord): LineResult => ({
    kind: 'embedding',
    line,
    status: 'completed',
    statusCode: 200,
    requestId: record.requestId,
    body: '{}',
    error: null,
    usage: [{ record, reservation: null }],
  });
  const countRecords = ({ requestId }: UsageRecord) =>
    api.db.sql.$count(usageRecords, eq(usageRecords.requestId, requestId));

  it('records usage that a crash left between the line and the ledger, once', async () => {
    const id = await makeBatch();
    const record = makeRecord();
    const crash = async () => Promise.reject(new Error('the process ends here'));
    const writer = new ResultWriter({ ...api.deps, recordUsage: crash }, runOf(id));
    await writer.add(resultOf(1, record));
    await assert.rejects(writer.flush(), /ends here/);
    assert.equal(await countRecords(record), 0);
    await recordLeftUsage(api.deps, id);
    assert.equal(await countRecords(record), 1);
    // A crash between the ledger and the outbox.
    const charged = { ...record, createdAt: record.createdAt };
    await api.db.sql
      .update(batchLines)
      .set({ unrecordedUsage: [charged] })
      .where(eq(batchLines.batchId, id));
    await recordLeftUsage(api.deps, id);
    assert.equal(await countRecords(record), 1);
  });

  it('stores, counts and bills one result of a line that two processes run', async () => {
    const id = await makeBatch();
    const [first, second] = [makeRecord(), makeRecord()];
    for (const record of [first, second]) {
      const writer = new ResultWriter(api.deps, runOf(id));
      await writer.add(resultOf(1, record));
      await writer.flush();
    }
    assert.deepEqual([await countRecords(first), await countRecords(second)], [1, 0]);
    const [row] = await api.db.sql.select().from(batches).where(eq(batches.id, id));
    assert.deepEqual([row?.completedLines, row?.failedLines], [1, 0]);
  });

  it('stores and bills nothing of a run that another one has replaced, also where the line has no result yet', async () => {
    const id = await makeBatch();
    assert.deepEqual(await startRun(api.db.sql, id, 0), { run: 2, lines: [1, 2] });
    const [late, current] = [makeRecord(), makeRecord()];
    for (const [record, run] of [
      [late, 1],
      [current, 2],
    ] as const) {
      const writer = new ResultWriter(api.deps, { ...runOf(id), run });
      await writer.add(resultOf(2, record));
      await writer.flush();
    }
    assert.deepEqual([await countRecords(late), await countRecords(current)], [0, 1]);
    const [row] = await api.db.sql.select().from(batches).where(eq(batches.id, id));
    assert.deepEqual([row?.completedLines, row?.costMicros], [1, current.costMicros]);
  });

  it('empties the outbox when the usage is in the ledger', async () => {
    const id = await makeBatch();
    const writer = new ResultWriter(api.deps, runOf(id));
    await writer.add(resultOf(1, makeRecord()));
    await writer.flush();
    const rows = await api.db.sql.select().from(batchLines).where(eq(batchLines.batchId, id));
    assert.deepEqual(
      rows.map(({ unrecordedUsage }) => unrecordedUsage),
      [null, null],
    );
    await assert.doesNotReject(recordLeftUsage({ db: api.db, recordUsage: () => assert.fail('recorded again') }, id));
  });

  it('does not record usage again that the ledger has', async () => {
    const id = await makeBatch();
    const record = makeRecord();
    await api.deps.recordUsage(record, null);
    await api.db.sql
      .update(batchLines)
      .set({ unrecordedUsage: [record] })
      .where(eq(batchLines.batchId, id));
    await recordLeftUsage({ db: api.db, recordUsage: () => assert.fail('recorded again') }, id);
  });
});

describe('ResultWriter with a slow or failing database', () => {
  const resultOf = (line: number, settled: number[]): LineResult => {
    const charge = { processId: 'p', hasBalance: true, budgetPeriod: null };
    const reservation = { grantedMicros: 1, charge, settle: () => void settled.push(line) };
    const usage = [{ record: {} as UsageRecord, reservation }];
    const result = { statusCode: 200, requestId: '', body: '{}', error: null } as const;
    return { ...result, line, status: 'completed', usage, kind: 'embedding' };
  };
  const writerOf = (execute: () => Promise<unknown>) => {
    const recordUsage = async () => {};
    const db = { execute } as unknown as ConstructorParameters<typeof ResultWriter>[0]['db'];
    return new ResultWriter({ db, metrics: new Registry(), recordUsage }, runOf('batch_1'));
  };

  it('waits while 128 results wait for the statement in flight', async () => {
    const gate = Promise.withResolvers<{ rows: [] }>();
    const writer = writerOf(() => gate.promise);
    const settled: number[] = [];
    for (let line = 0; line < 255; line += 1) await writer.add(resultOf(line, settled));
    let isWaiting = true;
    const last = writer.add(resultOf(255, settled)).then(() => {
      isWaiting = false;
    });
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(isWaiting);
    gate.resolve({ rows: [] });
    await last;
    await writer.flush();
    assert.equal(settled.length, 256, 'results that another process has stored give their credits back');
  });

  it('gives back the credits of all results that could not be stored', async () => {
    const writer = writerOf(() => Promise.reject(new Error('no space left')));
    const settled: number[] = [];
    const added = [1, 2, 3].map((line) => writer.add(resultOf(line, settled)));
    await Promise.allSettled(added);
    await assert.rejects(writer.flush(), /no space left/);
    assert.deepEqual(settled.toSorted(), [1, 2, 3]);
  });

  it('repeats a statement while the database is unavailable', async () => {
    let attempts = 0;
    const writer = writerOf(async () => {
      attempts += 1;
      if (attempts === 1) throw new FailedStatement('update', { code: 'ECONNREFUSED' });
      return { rows: [] };
    });
    await writer.add(resultOf(1, []));
    await writer.flush();
    assert.equal(attempts, 2);
  });
});
