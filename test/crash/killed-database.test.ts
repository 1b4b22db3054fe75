/** SIGKILL of the embedded PostgreSQL under load, alone and together with the service. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { readPidFile, servesFolder } from '../../src/db/embedded/postmaster.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import {
  killProcesses,
  newDataDir,
  type Service,
  startService,
  until,
  useEmbeddedDatabases,
} from '../spawned-service.ts';
import { chat, chatBody, type ReceivedResponse, readUsageRows } from './load.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

const CLIENTS = 8;
/** Maximum load time before the kill; each round draws a random time. */
const LOAD_MS = 1_000;
const MODEL = 'general-70b';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const isAcknowledged = ({ whole, status }: ReceivedResponse) => whole && status === 200;

/** Sends chats, half of them streamed, until `stop`. */
function startLoad(service: Service): { responses: ReceivedResponse[]; stop(): Promise<void> } {
  const responses: ReceivedResponse[] = [];
  let isStopping = false;
  const client = async (number: number) => {
    const body = chatBody(MODEL, number % 2 === 0, 1 + number * 3);
    while (!isStopping) {
      const response = await chat(service, body);
      responses.push(response);
      if (response.status !== 200) await pause(10);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  const stop = async () => {
    isStopping = true;
    await clients;
  };
  return { responses, stop };
}

async function assertRecordedOnce(dataDir: string, responses: readonly ReceivedResponse[]): Promise<void> {
  const counts = new Map<string, number>();
  for (const { requestId } of await readUsageRows(dataDir)) counts.set(requestId, (counts.get(requestId) ?? 0) + 1);
  for (const { requestId } of responses) assert.equal(counts.get(requestId), 1, `rows of ${requestId}`);
}

describe('SIGKILL of the embedded database', { skip: process.platform !== 'linux' }, () => {
  let upstream: TestServer;
  before(async () => {
    upstream = await startModelServer();
  });
  after(() => upstream.close());
  const started: Service[] = [];
  afterEach(() => Promise.all(started.splice(0).map((service) => service.kill())));
  const start = async (dataDir: string) => {
    const service = await startService({ dataDir, env: { QUIRE_UPSTREAM_URL: upstream.baseUrl } });
    started.push(service);
    return service;
  };

  it('fails requests with 503 and nothing else, and the service recovers by itself', NO_TIME_LIMIT, async () => {
    const dataDir = newDataDir();
    const folder = join(dataDir, 'postgres');
    const service = await start(dataDir);
    const load = startLoad(service);
    for (let round = 0; round < ROUNDS; round += 1) {
      await until(() => load.responses.slice(-CLIENTS).some(isAcknowledged));
      await pause(Math.random() * LOAD_MS);
      const before = await readPidFile(folder);
      process.kill(before?.pid as number, 'SIGKILL');
      await until(async () => (await readPidFile(folder))?.pid !== before?.pid);
      await until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
      const count = load.responses.length;
      await until(() => load.responses.slice(count).filter(isAcknowledged).length > CLIENTS);
    }
    await load.stop();
    const failed = load.responses.filter(({ status }) => status !== 200);
    assert.deepEqual(
      failed.filter(({ status }) => status !== 503).map(({ status, text }) => `${status} ${text}`),
      [],
    );
    assert.equal((await service.stop()).code, 0);
    await assertRecordedOnce(dataDir, load.responses.filter(isAcknowledged));
  });

  it('and of the service at the same moment loses no acknowledged response', NO_TIME_LIMIT, async () => {
    const dataDir = newDataDir();
    const folder = join(dataDir, 'postgres');
    const acknowledged: ReceivedResponse[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const service = await start(dataDir);
      const load = startLoad(service);
      await until(() => load.responses.some(isAcknowledged));
      await pause(Math.random() * LOAD_MS);
      const pids = readdirSync('/proc')
        .map(Number)
        .filter((pid) => pid > 0 && servesFolder(pid, folder));
      assert.ok(pids.length > 1);
      killProcesses([service.pid, ...pids]);
      assert.equal((await service.ended).signal, 'SIGKILL');
      await load.stop();
      acknowledged.push(...load.responses.filter(isAcknowledged));
    }
    assert.ok(acknowledged.length >= ROUNDS);
    await assertRecordedOnce(dataDir, acknowledged);
  });
});
