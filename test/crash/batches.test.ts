import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { usageRecords } from '../../src/billing/tables.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { assertEveryLineOnce, callBatches, chatLine, createBatchOf, waitForBatch } from '../batches.ts';
import { sendJson, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { createSharedStores } from '../shared-stores.ts';
import {
  newDataDir,
  type Service,
  startService,
  startWorker,
  until,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

/** Delay of the upstream, so that kills meet lines in progress. */
const CALL_MS = 20;
/** A job of a killed process is found after 30 s without a heartbeat. */
const BATCH_MS = 180_000;
const POLL_MS = 2;

/**
 * When the processes are killed. `lines` and `answerBytes` make the phase long enough to be met; where it ends too
 * soon, the kill meets the next one, and the guarantees are the same.
 */
const PHASES = [
  { phase: 'validating', lines: 5_000, answerBytes: 10, pauseMs: 150 },
  { phase: 'in_progress', lines: 600, answerBytes: 10, pauseMs: 400 },
  { phase: 'finalizing', lines: 400, answerBytes: 60_000, pauseMs: 30 },
  { phase: 'cancelling', lines: 600, answerBytes: 10, pauseMs: 60 },
] as const;

type Phase = (typeof PHASES)[number];

// biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
type Json = any;

/** A model that answers with as many bytes as the user name says. */
function startSlowModel(): Promise<TestServer> {
  return startServer(async ({ body }, response) => {
    await pause(CALL_MS);
    const content = 'x'.repeat(Number(body?.['user'] ?? 1));
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    sendJson(response, 200, { id: 'c', object: 'chat.completion', created: 1, model: 'slow', choices, usage });
  });
}

/** Creates a batch and waits for its phase, or for a later one. */
async function reachPhase(service: Service, { phase, lines, answerBytes, pauseMs }: Phase): Promise<Json> {
  const texts = Array.from({ length: lines }, (_, n) =>
    chatLine(`line-${n}`, `Hi ${n}`, { user: String(answerBytes) }),
  );
  const batch = await createBatchOf(service, texts);
  if (phase === 'cancelling') {
    await waitForBatch(service, batch.id, ({ request_counts }) => request_counts.completed > 0);
    await callBatches(service, 'POST', `/${batch.id}/cancel`);
  }
  for (let status = ''; status !== phase && !['completed', 'cancelled'].includes(status); ) {
    ({ status } = await callBatches(service, 'GET', `/${batch.id}`));
    if (phase === 'validating') break;
    await pause(POLL_MS);
  }
  await pause(Math.random() * pauseMs);
  return batch;
}

/** Asserts what a batch promises after any crash. Returns the request ids of its billed lines. */
async function assertBatch(service: Service, { id }: Json, { phase, lines }: Phase): Promise<string[]> {
  const batch = await waitForBatch(service, id, undefined, BATCH_MS);
  assert.equal(batch.status, phase === 'cancelling' ? 'cancelled' : 'completed', JSON.stringify(batch));
  const customIds = Array.from({ length: lines }, (_, n) => `line-${n}`);
  const { output, errors } = await assertEveryLineOnce(service, batch, customIds);
  assert.ok(errors.every(({ response, error }) => response === null && error.code === 'batch_cancelled'));
  if (phase !== 'cancelling') assert.equal(output.length, lines);
  const deletion = await fetch(`${service.url}/v1/files/${batch.input_file_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${service.key}` },
  });
  assert.equal(deletion.status, 200);
  return output.map(({ response }) => response.request_id);
}

describe('SIGKILL while a batch runs', () => {
  let upstream: TestServer;
  before(async () => {
    upstream = await startSlowModel();
  });
  after(() => upstream.close());

  it('one process: every line once, none billed twice', NO_TIME_LIMIT, async (t) => {
    const dataDir = newDataDir();
    const env = { QUIRE_UPSTREAM_URL: upstream.baseUrl };
    let service = await startService({ dataDir, env });
    t.after(() => service.kill());
    let billed = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const phase of PHASES) {
        const batch = await reachPhase(service, phase);
        await service.kill();
        service = await startService({ dataDir, env });
        billed += (await assertBatch(service, batch, phase)).length;
        const headers = { authorization: `Bearer ${service.key}` };
        const usage = (await (await fetch(`${service.url}/v1/usage`, { headers })).json()) as Json;
        const requests = usage.data.reduce((sum: number, row: Json) => sum + row.requests, 0);
        assert.equal(requests, billed, `${phase.phase}: usage records and lines differ`);
      }
    }
  });

  it('a service and two workers: every line once, none billed twice', NO_TIME_LIMIT, async (t) => {
    const shared = await createSharedStores({ isMigrated: false });
    const env = {
      ...shared.env,
      QUIRE_UPSTREAM_URL: upstream.baseUrl,
    };
    const starts = [startService, startWorker, startWorker];
    const processes = await Promise.all(starts.map((start) => start({ dataDir: newDataDir(), env })));
    const db = await openPostgres(shared.database.url, createLogger('silent'));
    t.after(async () => {
      await Promise.all(processes.map((each) => each.kill()));
      await db.close();
      await shared.close();
    });
    const billed: string[] = [];
    for (const phase of PHASES) {
      const batch = await reachPhase(processes[0] as Service, phase);
      // Kills all processes except one, which must take the batch over.
      const survivor = Math.floor(Math.random() * processes.length);
      for (const [at, { dataDir }] of processes.entries()) {
        if (at === survivor) continue;
        await processes[at]?.kill();
        processes[at] = await (starts[at] as typeof startWorker)({ dataDir, env });
      }
      billed.push(...(await assertBatch(processes[0] as Service, batch, phase)));
      const records = await db.sql.select({ requestId: usageRecords.requestId }).from(usageRecords);
      const recorded = records.map(({ requestId }) => requestId).toSorted();
      assert.deepEqual(recorded, billed.toSorted(), `${phase.phase}: usage records and lines differ`);
    }
  });

  it(
    'SIGSTOP of one of three processes beyond its lease: its late results are neither stored nor billed',
    NO_TIME_LIMIT,
    async (t) => {
      const shared = await createSharedStores({ isMigrated: false });
      // Slow enough that lines are in progress when the process is suspended.
      const env = { ...shared.env, QUIRE_UPSTREAM_URL: upstream.baseUrl, QUIRE_BATCH_CONCURRENCY: '2' };
      const service = await startService({ dataDir: newDataDir(), env });
      const workers = await Promise.all([1, 2].map(() => startWorker({ dataDir: newDataDir(), env })));
      const db = await openPostgres(shared.database.url, createLogger('silent'));
      t.after(async () => {
        await Promise.all([service, ...workers].map((each) => each.kill()));
        await db.close();
        await shared.close();
      });
      const phase = PHASES[1];
      const batch = await reachPhase(service, phase);
      const { request_counts } = await callBatches(service, 'GET', `/${batch.id}`);
      assert.ok(request_counts.completed < phase.lines);
      const [suspended] = workers as [Service];
      suspended.signal('SIGSTOP');
      const ended = await waitForBatch(service, batch.id, undefined, BATCH_MS);
      assert.equal(ended.status, 'completed');
      suspended.signal('SIGCONT');
      await until(() => suspended.stderr().includes('process lease lost'));
      const requestIds = await assertBatch(service, batch, phase);
      await until(async () => (await db.sql.$count(usageRecords)) >= requestIds.length);
      const records = await db.sql.select({ requestId: usageRecords.requestId }).from(usageRecords);
      assert.deepEqual(records.map(({ requestId }) => requestId).toSorted(), requestIds.toSorted());
    },
  );
});
