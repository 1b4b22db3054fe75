import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { selectOrganizationByName } from '../../src/accounts/store.ts';
import { readBalance, setBalance } from '../../src/billing/credits.ts';
import { usageRecords } from '../../src/billing/tables.ts';
import type { Database } from '../../src/db/db.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { newDataDir, type Service, startApi, startWorker } from '../spawned-service.ts';
import { sumCredits } from '../sum-credits.ts';
import { type HangingServer, startHangingServer } from './hanging-server.ts';
import { backUpServer, startCopy } from './restored-database.ts';
import { type Json, LINES, type Promised, pick, send, sha256, Traffic } from './traffic.ts';

const APIS = 3;
const WORKERS = 2;
/** Duration of the traffic. The whole test takes a minute more on an idle machine. */
const LOAD_MS = Number(process.env['QUIRE_TEST_CLUSTER_SECONDS'] ?? 90) * 1_000;
/** Maximum pause between two kills; each pause is random. */
const MAX_KILL_PAUSE_MS = 5_000;
/** Guard for jobs that never end. A job of a killed process is found within 45 s. */
const JOBS_GUARD_MS = 240_000;
/** Guard for a hang of the test itself, on a machine with other work. */
const TIMEOUT_MS = 600_000;
/** More than the traffic can spend. */
const BALANCE_MICROS = 1_000_000_000;
/** Lines of the log of each process that a failed test shows. */
const LOG_LINES = 15;
/**
 * What a client may see: a success, a request to try again, a broken connection, or 409 while the idempotency key of
 * its first attempt is leased by a process that was killed.
 */
const EXPECTED_STATUSES = new Set([200, 503, 0, 409]);
/** Disturbances, by their share of the traffic's duration. */
const OUTAGES = [
  { from: 0.1, to: 0.3, isAffected: (key: string) => key.startsWith('blobs/') },
  { from: 0.5, to: 0.75, isAffected: () => true },
];
/** When the database is backed up: the stores respond again, and jobs are running. */
const BACKUP_SHARE = 0.8;
const HANGS = [
  { from: 0.05, to: 0.4 },
  { from: 0.6, to: 0.9 },
];

describe('three API processes and two workers on one database, files and index', { timeout: TIMEOUT_MS }, () => {
  let shared: SharedStores;
  let db: Database;
  let upstream: TestServer;
  let hanging: HangingServer;
  let env: Record<string, string>;
  const apis: Service[] = [];
  const workers: Service[] = [];
  /** Logs of killed processes. */
  const logs: string[] = [];
  let organizationId: string;
  /** Folder of the copied database, and what was acknowledged before the copy. */
  const copy = join(newDataDir(), 'postgres');
  let saved: Promised | null = null;
  before(async () => {
    shared = await createSharedStores({ isMigrated: false });
    db = await openPostgres(shared.database.url, createLogger('silent'));
    upstream = await startModelServer();
    hanging = await startHangingServer(upstream.baseUrl);
    env = { ...shared.env, QUIRE_UPSTREAM_URL: `${upstream.baseUrl},${hanging.baseUrl}` };
    // Concurrent start on an empty database: one process migrates, one creates the bootstrap key.
    const started = await Promise.all([
      ...Array.from({ length: APIS }, () => startApi({ dataDir: newDataDir(), env })),
      ...Array.from({ length: WORKERS }, () => startWorker({ dataDir: newDataDir(), env })),
    ]);
    apis.push(...started.slice(0, APIS));
    workers.push(...started.slice(APIS));
    organizationId = (await selectOrganizationByName(db.sql, 'default'))?.id ?? '';
    await setBalance(db.sql, organizationId, BALANCE_MICROS, { actor: 'test', note: null });
  });
  after(async () => {
    await Promise.all([...apis, ...workers].map((each) => each.kill()));
    await db.close();
    await hanging.close();
    await upstream.close();
    await shared.close();
  });

  /** Kills random processes of a group, one after the other, and starts each again on its data folder. */
  async function killProcesses(group: Service[], start: typeof startWorker, isOver: () => boolean): Promise<number> {
    let kills = 0;
    while (!isOver()) {
      await pause(Math.random() * MAX_KILL_PAUSE_MS);
      const at = Math.floor(Math.random() * group.length);
      const { dataDir, kill, stderr } = group[at] as Service;
      await kill();
      logs.push(stderr());
      group[at] = await start({ dataDir, env });
      kills += 1;
    }
    return kills;
  }

  /** Ends connections that wait for notifications or hold locks, which processes must open again by themselves. */
  async function endConnections(isOver: () => boolean): Promise<number> {
    let ended = 0;
    while (!isOver()) {
      await pause(Math.random() * MAX_KILL_PAUSE_MS);
      const { rows } = await db.execute(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name in ('quire-notifications', 'quire-locks')
        order by random() limit 1`);
      ended += rows.length;
    }
    return ended;
  }

  /** Waits for the shares of the traffic's duration, and calls `set` at their begin and end. */
  async function disturb<T extends { from: number; to: number }>(
    periods: readonly T[],
    set: (period: T | null) => void,
  ): Promise<void> {
    const startedAt = performance.now();
    const until = (share: number) => pause(Math.max(0, startedAt + share * LOAD_MS - performance.now()));
    for (const period of periods) {
      await until(period.from);
      set(period);
      await until(period.to);
      set(null);
    }
  }

  /** Errors, broken connections and requests without an answer. */
  function setOutage(period: (typeof OUTAGES)[0] | null): void {
    shared.store.fault =
      period === null ? null : (_operation, key) => (period.isAffected(key) ? pick([503, 503, 'reset', 'hang']) : null);
  }

  /**
   * Polls `/readyz` of every process while the model server hangs and the stores work. Returns the number of responses
   * by status.
   */
  async function watchReadiness(isOver: () => boolean): Promise<Record<number, number>> {
    const statuses: Record<number, number> = {};
    const isHangOnly = () => hanging.isHanging() && shared.store.fault === null;
    while (!isOver()) {
      for (const api of apis) {
        if (!isHangOnly()) break;
        const ready = await send(api, 'GET', '/readyz');
        if (ready !== null && isHangOnly()) statuses[ready.status] = (statuses[ready.status] ?? 0) + 1;
      }
      await pause(500);
    }
    return statuses;
  }

  async function assertFiles({ files, names }: Promised): Promise<void> {
    const count = new Map<string, number>();
    for (let after = ''; ; ) {
      const { json } = (await send(pick(apis), 'GET', `/v1/files?limit=100${after}`)) as { json: Json };
      for (const { filename } of json.data) count.set(filename, (count.get(filename) ?? 0) + 1);
      if (!json.has_more) break;
      after = `&after=${json.last_id}`;
    }
    for (const name of names) assert.ok((count.get(name) ?? 0) <= 1, `${name} was stored twice`);
    for (const [id, hash] of files) {
      const service = pick(apis);
      const headers = { authorization: `Bearer ${service.key}` };
      const content = await fetch(`${service.url}/v1/files/${id}/content`, { headers });
      assert.equal(content.status, 200, `${id} is lost`);
      assert.equal(sha256(Buffer.from(await content.arrayBuffer())), hash);
    }
  }

  /** One record for each request, with the tokens of its response, and a balance that is the sum of the records. */
  async function assertUsage({ chats }: Pick<Promised, 'chats'>, { sql }: Pick<Database, 'sql'> = db): Promise<void> {
    const rows = await sql.select().from(usageRecords);
    const records = Map.groupBy(
      rows.filter(({ endpoint }) => endpoint === '/v1/chat/completions'),
      ({ requestId }) => requestId,
    );
    for (const [id, { length }] of records) assert.equal(length, 1, `${id} was recorded more than once`);
    for (const { requestId, usage } of chats) {
      const [record] = records.get(requestId) ?? [];
      assert.deepEqual(
        { outcome: record?.outcome, prompt: record?.promptTokens, completion: record?.completionTokens },
        { outcome: 'completed', prompt: usage.prompt_tokens, completion: usage.completion_tokens },
        requestId,
      );
    }
    for (const { chargedMicros, costMicros, requestId } of rows) assert.equal(chargedMicros, costMicros, requestId);
    const { transactions, charged } = await sumCredits(sql, organizationId);
    assert.equal((await readBalance(sql, organizationId))?.balanceMicros, transactions - charged);
    assert.equal(
      charged,
      rows.reduce((sum, { chargedMicros }) => sum + chargedMicros, 0),
    );
  }

  async function listJobs(id: string): Promise<Json[]> {
    const answer = await send(pick(apis), 'GET', `/v1/knowledge-bases/${id}/ingestion-jobs`);
    assert.equal(answer?.status, 200);
    return answer?.json.data;
  }

  async function assertIngested({ id, number }: Promised['bases'][0], deadline: number): Promise<void> {
    let jobs = await listJobs(id);
    while (jobs[0]?.status !== 'completed') {
      assert.ok(performance.now() < deadline, `a job did not complete: ${JSON.stringify(jobs)}`);
      assert.notEqual(jobs[0]?.status, 'failed', JSON.stringify(jobs));
      await pause(100);
      jobs = await listJobs(id);
    }
    assert.deepEqual(
      jobs.map((job) => [job.documents_processed, job.documents_failed, job.chunks_created]),
      [[LINES, 0, LINES]],
    );
    const base = await send(pick(apis), 'GET', `/v1/knowledge-bases/${id}`);
    assert.deepEqual([base?.json.document_count, base?.json.chunk_count], [LINES, LINES]);
    for (const line of [0, LINES - 1]) {
      const word = `word${number}x${line}y`;
      for (const service of apis) {
        const search = { query: word, search_type: 'keyword' };
        const found = await send(service, 'POST', `/v1/knowledge-bases/${id}/retrieve`, search);
        const texts: string[] = found?.json.results?.map((result: Json) => result.content ?? result.text) ?? [];
        assert.equal(texts.length, 1, `${word}: ${JSON.stringify(found?.json)}`);
        assert.match(texts[0] ?? '', new RegExp(`\\b${word}\\b`));
      }
    }
  }

  /** Backs up the database in the last fifth of the traffic. Returns what was acknowledged before the backup. */
  async function backUp({ promised }: Traffic): Promise<Promised> {
    await pause(BACKUP_SHARE * LOAD_MS);
    const { files, names, chats, bases, revocations } = promised;
    const before = { files: new Map(files), names: new Set(names), chats: [...chats], bases: [...bases], revocations };
    await backUpServer(db, copy);
    return before;
  }

  it('lose nothing and repeat nothing while processes are killed, stores are down and a model server hangs', {
    timeout: TIMEOUT_MS,
  }, async (t) => {
    let hasPassed = false;
    t.after(() => {
      if (!hasPassed) for (const service of [...apis, ...workers]) t.diagnostic(describeLog(service));
    });
    const endsAt = performance.now() + LOAD_MS;
    const isOver = () => performance.now() > endsAt;
    const traffic = new Traffic(apis, db, isOver);
    const [apisKilled, workersKilled, connectionsEnded, readiness, before] = await Promise.all([
      killProcesses(apis, startApi, isOver),
      killProcesses(workers, startWorker, isOver),
      endConnections(isOver),
      watchReadiness(isOver),
      backUp(traffic),
      disturb(OUTAGES, setOutage),
      disturb(HANGS, (period) => hanging.setHanging(period !== null)),
      traffic.run(),
    ]);
    const { files, chats, bases, revocations } = traffic.promised;
    t.diagnostic(
      `Killed: ${apisKilled} APIs, ${workersKilled} workers. Database connections ended: ${connectionsEnded}`,
    );
    t.diagnostic(`Acknowledged: ${files.size} files, ${chats.length} chats, ${bases.length} ingestion jobs`);
    t.diagnostic(`Responses by status: ${JSON.stringify(traffic.responses)}`);
    t.diagnostic(`/readyz by status while a model server hangs: ${JSON.stringify(readiness)}`);
    t.diagnostic(`Keys revoked: ${revocations.length}, in every process after ${Math.max(...revocations)} ms at most`);
    for (const count of [apisKilled, workersKilled, files.size, chats.length, bases.length, revocations.length]) {
      assert.ok(count > 0, 'the traffic was too short for this machine: QUIRE_TEST_CLUSTER_SECONDS');
    }
    for (const name of Object.keys(traffic.responses)) {
      assert.ok(EXPECTED_STATUSES.has(Number(name.split(' ').at(-1))), `a request was answered with: ${name}`);
    }
    assert.ok((readiness[200] ?? 0) > 0, 'a hanging model server made all processes unready');
    const startedAt = performance.now();
    for (const base of bases) await assertIngested(base, startedAt + JOBS_GUARD_MS);
    t.diagnostic(`All jobs completed after ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    await assertFiles(traffic.promised);
    logs.push(...[...apis, ...workers].map(({ stderr }) => stderr()));
    assert.doesNotMatch(logs.join('\n'), /will be rebuilt/, 'an index was taken for damaged');
    const ended = await Promise.all([...apis, ...workers].map((each) => each.stop()));
    for (const end of ended) assert.deepEqual(end, { code: 0, signal: null });
    await assertUsage(traffic.promised);
    saved = before;
    hasPassed = true;
  });

  it('a restored backup of the database has what was acknowledged before it, and its jobs go on', {
    timeout: TIMEOUT_MS,
  }, async (t) => {
    assert.ok(saved !== null, 'there is no backup');
    const startedAt = performance.now();
    const server = await startCopy(copy, shared.database.url);
    t.after(() => server.stop());
    const restored = await openPostgres(server.url, createLogger('silent'));
    t.after(() => restored.close());
    // Files and index are those of a later time.
    const options = { dataDir: newDataDir(), env: { ...env, QUIRE_DATABASE_URL: server.url } };
    apis.splice(0, APIS, await startApi(options));
    workers.splice(0, WORKERS, await startWorker({ ...options, dataDir: newDataDir() }));
    for (const base of saved.bases) await assertIngested(base, startedAt + JOBS_GUARD_MS);
    await assertFiles(saved);
    const ended = await Promise.all([...apis, ...workers].map((each) => each.stop()));
    for (const end of ended) assert.deepEqual(end, { code: 0, signal: null });
    await assertUsage(saved, restored);
    const { files, chats, bases } = saved;
    t.diagnostic(
      `Restored after ${Math.round((performance.now() - startedAt) / 1_000)} s: ${files.size} files, ${chats.length} chats, ${bases.length} ingestion jobs`,
    );
  });
});

function describeLog({ dataDir, pid, stderr }: Service): string {
  const lines = stderr()
    .split('\n')
    .filter((line) => !line.includes('"level":"info"'));
  return `Last warnings and errors of process ${pid} (${dataDir}):\n${lines.slice(-LOG_LINES).join('\n')}`;
}
