import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { addKey } from '../../src/accounts/add-key.ts';
import { selectOrganizationByName, updateApiKey } from '../../src/accounts/store.ts';
import { usageRecords } from '../../src/billing/tables.ts';
import type { Database } from '../../src/db/db.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { encodeForm, sendForm } from '../forms.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { newDataDir, type Service, startService, startWorker } from '../spawned-service.ts';
import { chat, chatBody } from './load.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

/** A round of load; 85 rounds take ten minutes. */
const ROUND_MS = 7_000;
/** Maximum pause between two kills; each pause is random. */
const MAX_KILL_PAUSE_MS = 3_000;
const SERVICES = 3;
const WORKERS = 3;
/** Lines of an ingested file: each is a document with a word of its own. */
const LINES = 40;
/** Time in which a revoked key must be refused by every process, times the load of each core: a busy machine reconnects late. */
const REVOCATION_MS = 1_000;
/** A job of a killed process is found after 30 s without a heartbeat, and retried with backoff. */
const JOBS_MS = 300_000;

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;

/** Acknowledged and attempted operations. */
interface Promised {
  /** Hash by file id. */
  files: Map<string, string>;
  /** Names of all started uploads. */
  names: Set<string>;
  /** Ids of completed chat requests. */
  requests: string[];
  /** Knowledge bases with one data source, and the number in the words of its documents. */
  bases: { id: string; number: number }[];
  revokedKeys: number;
}

// biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
type Json = any;

/** Sends JSON. Returns null when the connection broke: the process was killed. */
async function send(service: Service, method: string, path: string, body?: object) {
  try {
    const response = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json };
  } catch {
    return null;
  }
}

/** Uploads a file, and again under its idempotency key when the connection broke. Returns its id; null when that was not acknowledged. */
async function upload(services: readonly Service[], name: string, content: Uint8Array): Promise<string | null> {
  const parts = [
    { name: 'purpose', content: 'knowledge-base' },
    { name: 'file', filename: name, content },
  ];
  for (let tries = 0; tries < 2; tries += 1) {
    const service = pick(services);
    const sending = { key: service.key, headers: { 'idempotency-key': name } };
    const sent = await sendForm(`${service.url}/v1/files`, encodeForm(parts), sending).catch(() => null);
    if (sent !== null) return sent.status === 200 ? sent.json.id : null;
  }
  return null;
}

describe('three services and three workers on one database, files and index', () => {
  let shared: SharedStores;
  let db: Database;
  let upstream: TestServer;
  let env: Record<string, string>;
  const services: Service[] = [];
  const workers: Service[] = [];
  before(async () => {
    shared = await createSharedStores({ isMigrated: false });
    db = await openPostgres(shared.database.url, createLogger('silent'));
    upstream = await startModelServer();
    env = {
      ...shared.env,
      QUIRE_UPSTREAM_URL: upstream.baseUrl,
    };
    // Concurrent start on an empty database: one process migrates, one creates the bootstrap key.
    const started = await Promise.all([
      ...Array.from({ length: SERVICES }, () => startService({ dataDir: newDataDir(), env })),
      ...Array.from({ length: WORKERS }, () => startWorker({ dataDir: newDataDir(), env })),
    ]);
    services.push(...started.slice(0, SERVICES));
    workers.push(...started.slice(SERVICES));
  });
  after(async () => {
    await Promise.all([...services, ...workers].map((each) => each.kill()));
    await db.close();
    await upstream.close();
    await shared.close();
  });

  /** Kills random processes of a group, one after the other, and starts each again on its data folder. */
  async function killProcesses(group: Service[], start: typeof startWorker, isOver: () => boolean): Promise<number> {
    let kills = 0;
    while (!isOver()) {
      await pause(Math.random() * MAX_KILL_PAUSE_MS);
      const at = Math.floor(Math.random() * group.length);
      const { dataDir } = group[at] as Service;
      await group[at]?.kill();
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

  async function uploadFiles(promised: Promised, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const bytes = Buffer.concat([Buffer.from('%PDF-'), randomBytes(1 + Math.floor(Math.random() * 50_000))]);
      const name = `${randomBytes(8).toString('hex')}.pdf`;
      promised.names.add(name);
      const id = await upload(services, name, bytes);
      if (id !== null) promised.files.set(id, sha256(bytes));
    }
  }

  async function sendChats(promised: Promised, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const { status, whole, requestId } = await chat(pick(services), chatBody('general-8b', Math.random() < 0.5, 5));
      if (status === 200 && whole) promised.requests.push(requestId);
    }
  }

  async function ingest(promised: Promised, isOver: () => boolean): Promise<void> {
    for (let number = 0; !isOver(); number += 1) {
      const lines = Array.from({ length: LINES }, (_, line) =>
        JSON.stringify({ text: `This line is about word${number}x${line}y and nothing else.` }),
      );
      const file = await upload(services, `${number}.jsonl`, Buffer.from(lines.join('\n')));
      const base = await send(pick(services), 'POST', '/v1/knowledge-bases', { name: `Base ${number}` });
      if (file === null || base?.status !== 200) continue;
      const source = { type: 'file_upload', config: { file_ids: [file] } };
      const { id } = base.json;
      const created = await send(pick(services), 'POST', `/v1/knowledge-bases/${id}/data-sources`, source);
      if (created?.status === 200) promised.bases.push({ id, number });
      await pause(1_000);
    }
  }

  /** Creates keys, uses them in every service, revokes them, and uses them again. */
  async function revokeKeys(promised: Promised, isOver: () => boolean): Promise<void> {
    const requestStatus = async (service: Service, key: string) =>
      fetch(`${service.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(
        ({ status }) => status,
        () => null,
      );
    while (!isOver()) {
      const organizationId = (await selectOrganizationByName(db.sql, 'default'))?.id ?? '';
      const properties = { organizationId, name: 'revoked', models: null, limits: null, budget: null, expiresAt: null };
      const { row, secret: key } = await addKey(db.sql, { ...properties, scopes: ['inference'] });
      for (const service of services) assert.ok([200, null].includes(await requestStatus(service, key)));
      await db.sql.transaction((sql) => updateApiKey(sql, row.id, { revokedAt: new Date() }));
      await pause(REVOCATION_MS * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism()));
      for (const service of services) {
        assert.ok([401, null].includes(await requestStatus(service, key)), 'a service accepts a revoked key');
      }
      promised.revokedKeys += 1;
    }
  }

  async function assertFiles({ files, names }: Promised): Promise<void> {
    const count = new Map<string, number>();
    for (let after = ''; ; ) {
      const { json } = (await send(pick(services), 'GET', `/v1/files?limit=100${after}`)) as { json: Json };
      for (const { filename } of json.data) count.set(filename, (count.get(filename) ?? 0) + 1);
      if (!json.has_more) break;
      after = `&after=${json.last_id}`;
    }
    for (const name of names) assert.ok((count.get(name) ?? 0) <= 1, `${name} was stored twice`);
    for (const [id, hash] of files) {
      const service = pick(services);
      const headers = { authorization: `Bearer ${service.key}` };
      const content = await fetch(`${service.url}/v1/files/${id}/content`, { headers });
      assert.equal(content.status, 200, `${id} is lost`);
      assert.equal(sha256(Buffer.from(await content.arrayBuffer())), hash);
    }
  }

  async function assertUsage({ requests }: Promised): Promise<void> {
    const rows = await db.sql.select().from(usageRecords);
    const outcomes = Map.groupBy(
      rows.filter(({ endpoint }) => endpoint === '/v1/chat/completions'),
      ({ requestId }) => requestId,
    );
    for (const [id, records] of outcomes) assert.equal(records.length, 1, `${id} was recorded more than once`);
    const unrecorded = requests.filter((id) => outcomes.get(id)?.[0]?.outcome !== 'completed');
    assert.deepEqual(unrecorded, []);
  }

  async function listJobs(id: string): Promise<Json[]> {
    const answer = await send(pick(services), 'GET', `/v1/knowledge-bases/${id}/ingestion-jobs`);
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
    const base = await send(pick(services), 'GET', `/v1/knowledge-bases/${id}`);
    assert.deepEqual([base?.json.document_count, base?.json.chunk_count], [LINES, LINES]);
    for (const line of [0, LINES - 1]) {
      const word = `word${number}x${line}y`;
      for (const service of services) {
        const found = await send(service, 'POST', `/v1/knowledge-bases/${id}/retrieve`, {
          query: word,
          search_type: 'keyword',
        });
        const texts: string[] = found?.json.results.map((result: Json) => result.content ?? result.text);
        assert.equal(texts.length, 1, `${word}: ${JSON.stringify(found?.json)}`);
        assert.match(texts[0] ?? '', new RegExp(`\\b${word}\\b`));
      }
    }
  }

  it(
    'lose nothing that was acknowledged, repeat nothing, and refuse revoked keys everywhere within a second',
    NO_TIME_LIMIT,
    async (t) => {
      const promised: Promised = { files: new Map(), names: new Set(), requests: [], bases: [], revokedKeys: 0 };
      const endsAt = performance.now() + ROUNDS * ROUND_MS;
      const isOver = () => performance.now() > endsAt;
      const [servicesKilled, workersKilled, connectionsEnded] = await Promise.all([
        killProcesses(services, startService, isOver),
        killProcesses(workers, startWorker, isOver),
        endConnections(isOver),
        ingest(promised, isOver),
        revokeKeys(promised, isOver),
        ...[1, 2].map(() => uploadFiles(promised, isOver)),
        ...[1, 2, 3].map(() => sendChats(promised, isOver)),
      ]);
      const { files, requests, bases, revokedKeys } = promised;
      t.diagnostic(
        `${servicesKilled} services and ${workersKilled} workers killed, ${connectionsEnded} connections ended: ${files.size} files, ${requests.length} chats, ${bases.length} jobs, ${revokedKeys} revoked keys`,
      );
      assert.ok(files.size > 0 && requests.length > 0 && bases.length > 0 && revokedKeys > 0);
      const deadline = performance.now() + JOBS_MS;
      for (const base of bases) await assertIngested(base, deadline);
      await assertFiles(promised);
      await assertUsage(promised);
      const ended = await Promise.all([...services, ...workers].map((each) => each.stop()));
      for (const end of ended) assert.deepEqual(end, { code: 0, signal: null });
    },
  );
});
