/** Clients disconnect under load during a shutdown: every request that reached the upstream is recorded as usage. */
import assert from 'node:assert/strict';
import { Agent, type ClientRequest, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readUsageRows } from '../crash/load.ts';
import { sendEvents, sendJson, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { type Service, startService, useEmbeddedDatabases } from '../spawned-service.ts';
import { scaled } from './scale.ts';

// Stopping the database is part of the shutdown.
useEmbeddedDatabases();

const ROUNDS = scaled(30, 3);
/** Enough that usage writes lag behind. The defect did not show with fewer. */
const CLIENTS = 200;
/** Response time of the upstream. */
const ANSWER_MS = 100;
/** Load before the disconnections. API keys are looked up every 3 s, and requests then wait in a hook. */
const LOAD_MS = scaled(3_000, 1_500);
/** Milliseconds from the disconnections to SIGTERM, in turn. Negative: SIGTERM first. */
const OFFSETS_MS = [0, 5, -5] as const;
const TIMEOUT_MS = 60_000 + ROUNDS * 60_000;

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const choice = { index: 0, finish_reason: 'stop' };

describe('SIGTERM beside clients that disconnect', () => {
  let upstream: TestServer;
  before(async () => {
    upstream = await startServer(async ({ path, body }, response) => {
      if (!path.endsWith('/chat/completions')) return sendJson(response, 404, {});
      const isStreamed = body?.['stream'] === true;
      if (isStreamed)
        sendEvents(response, [{ choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] }]);
      await delay(ANSWER_MS);
      if (!isStreamed) {
        return sendJson(response, 200, {
          choices: [{ ...choice, message: { role: 'assistant', content: '!' } }],
          usage,
        });
      }
      sendEvents(response, [{ choices: [{ ...choice, delta: {} }] }, { choices: [], usage }, '[DONE]']);
      response.end();
    });
  });
  after(() => upstream.close());

  it(`has a usage record for every call, in ${ROUNDS} rounds`, { timeout: TIMEOUT_MS }, async () => {
    let dataDir: string | undefined;
    let recordsBefore = 0;
    const rounds: { served: number; recorded: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      upstream.requests.length = 0;
      const service = await startService({
        ...(dataDir && { dataDir }),
        env: { QUIRE_UPSTREAM_URL: upstream.baseUrl },
      });
      dataDir = service.dataDir;
      const load = startLoad(service);
      await delay(LOAD_MS);
      await leaveAndStop(load, service, OFFSETS_MS[round % OFFSETS_MS.length] ?? 0);
      assert.deepEqual(await service.ended, { code: 0, signal: null });
      const recorded = (await readUsageRows(dataDir)).length - recordsBefore;
      recordsBefore += recorded;
      const served = upstream.requests.filter(({ path }) => path.endsWith('/chat/completions')).length;
      assert.ok(served > CLIENTS, `the model's server was asked only ${served} times`);
      rounds.push({ served, recorded });
    }
    // A call that is aborted before it reaches the upstream is recorded, too.
    assert.deepEqual(
      rounds.filter(({ served, recorded }) => recorded < served),
      [],
    );
  });
});

/** Clients that send chat requests one after the other until they disconnect. */
interface Load {
  /** Destroys all connections, in the middle of requests. */
  leave(): void;
}

function startLoad(service: Service): Load {
  const { hostname, port } = new URL(service.url);
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const running = new Set<ClientRequest>();
  let hasLeft = false;
  const send = (stream: boolean) => {
    if (hasLeft) return;
    const sent = request({ agent, hostname, port, method: 'POST', path: '/v1/chat/completions', headers });
    running.add(sent);
    sent.on('error', () => {});
    sent.on('response', (response) => response.on('error', () => {}).resume());
    sent.on('close', () => {
      running.delete(sent);
      send(stream);
    });
    sent.end(JSON.stringify({ model: 'general-8b', stream, messages: [{ role: 'user', content: 'Hi' }] }));
  };
  for (let client = 0; client < CLIENTS; client += 1) send(client % 2 === 0);
  return {
    leave: () => {
      hasLeft = true;
      for (const sent of running) sent.destroy();
      agent.destroy();
    },
  };
}

async function leaveAndStop(load: Load, service: Service, offsetMs: number): Promise<void> {
  if (offsetMs < 0) service.signal('SIGTERM');
  else load.leave();
  await delay(Math.abs(offsetMs));
  if (offsetMs < 0) load.leave();
  else service.signal('SIGTERM');
}
