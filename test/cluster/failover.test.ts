import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inArray } from 'drizzle-orm';
import { usageRecords } from '../../src/billing/tables.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { knowledgeBases } from '../../src/knowledge-bases/tables.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { chat, chatBody } from '../crash/load.ts';
import { until } from '../deadline.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { newDataDir, type Service, startService } from '../spawned-service.ts';
import { findMissingPrograms, type PatroniCluster, startPatroniCluster } from './patroni.ts';
import { send } from './traffic.ts';

/** Guard for a hang of the test itself, on a machine with other work. */
const TIMEOUT_MS = 600_000;
/** Callers of each process. */
const CALLERS = 4;
/** Calls that are acknowledged before the kill, and after the recovery. */
const CALLS = 100;
const missing = findMissingPrograms();

describe('failover of PostgreSQL with Patroni', { timeout: TIMEOUT_MS, skip: missing ?? false }, () => {
  let cluster: PatroniCluster;
  let shared: SharedStores;
  let upstream: TestServer;
  const services: Service[] = [];
  before(async () => {
    [cluster, shared, upstream] = await Promise.all([
      startPatroniCluster(),
      createSharedStores({ isMigrated: false }),
      startModelServer(),
    ]);
    const env = { ...shared.env, QUIRE_DATABASE_URL: cluster.url, QUIRE_UPSTREAM_URL: upstream.baseUrl };
    services.push(...(await Promise.all([1, 2].map(() => startService({ dataDir: newDataDir(), env })))));
  });
  after(async () => {
    await Promise.all(services.map((service) => service.kill()));
    await upstream?.close();
    await shared?.close();
    await cluster?.stop();
  });

  it('the primary is killed under load: nothing acknowledged is lost, and each call is billed once', async (t) => {
    const acknowledged = { calls: [] as string[], bases: [] as string[] };
    const statuses: Record<string, number> = {};
    const count = (kind: string, status: number) => {
      statuses[`${kind} ${status}`] = (statuses[`${kind} ${status}`] ?? 0) + 1;
    };
    /** Monotonic times of the kill, of the first failure after it, and of the last. */
    const times = { killed: Number.POSITIVE_INFINITY, failed: 0, recovered: 0 };
    let isOver = false;
    const call = async (service: Service) => {
      while (!isOver) {
        const { status, whole, requestId } = await chat(service, chatBody('general-8b', false, 5));
        count('chat', status);
        if (status === 200 && whole) acknowledged.calls.push(requestId);
        else if (performance.now() > times.killed) times.failed = performance.now();
        const base = await send(service, 'POST', '/v1/knowledge-bases', { name: 'Base' });
        count('knowledge base', base?.status ?? 0);
        if (base?.status === 200) acknowledged.bases.push(base.json.id);
        await pause(20);
      }
    };
    const load = services.flatMap((service) => Array.from({ length: CALLERS }, () => call(service)));
    await until(() => acknowledged.calls.length >= CALLS);
    times.killed = performance.now();
    const killed = await cluster.killPrimary();
    await until(async () => ![killed, null].includes(await cluster.primary()));
    const promotedMs = performance.now() - times.killed;
    const before = acknowledged.calls.length;
    await until(() => acknowledged.calls.length >= before + CALLS);
    isOver = true;
    await Promise.all(load);
    const { billed, stored, twice } = await readStored(cluster.url, acknowledged);
    const recoveredMs = Math.max(0, times.failed - times.killed);
    t.diagnostic(
      JSON.stringify({
        promotedSeconds: Math.round(promotedMs / 100) / 10,
        lastFailureSeconds: Math.round(recoveredMs / 100) / 10,
        calls: acknowledged.calls.length,
        bases: acknowledged.bases.length,
        statuses,
      }),
    );
    assert.deepEqual(billed.map(({ requestId }) => requestId).toSorted(), acknowledged.calls.toSorted());
    assert.deepEqual(twice, []);
    assert.equal(stored.length, acknowledged.bases.length);
    // Requests during the failover are refused with a status that clients try again on.
    const unexpected = Object.keys(statuses).filter((key) => !/ (200|503|0)$/.test(key));
    assert.deepEqual(unexpected, []);
  });
});

/** What the new primary has of the acknowledged calls and knowledge bases, and calls that it has twice. */
async function readStored(url: string, acknowledged: { calls: string[]; bases: string[] }) {
  const db = await openPostgres(url, createLogger('silent'));
  const billed = await db.sql
    .select({ requestId: usageRecords.requestId })
    .from(usageRecords)
    .where(inArray(usageRecords.requestId, acknowledged.calls));
  const stored = await db.sql
    .select({ id: knowledgeBases.id })
    .from(knowledgeBases)
    .where(inArray(knowledgeBases.id, acknowledged.bases));
  const { rows: twice } = await db.execute(
    'select request_id from usage_records group by request_id having count(*) > 1',
  );
  await db.close();
  return { billed, stored, twice };
}
