import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { type Service, startService, until } from '../spawned-service.ts';
import { scaled } from './scale.ts';

const LIMIT = 600;
const CONCURRENT = 4;
const LOAD_MS = scaled(60_000, 5_000);
const CLIENTS_PER_SERVICE = 8;
const PROCESSES = 3;
/** What the processes hold ahead, see `SharedLimitStore`. */
const AHEAD = (PROCESSES * 2 * LIMIT) / 60;
const NEVER_ENDS =
  'data: {"id":"a","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';

describe('three processes on one database under load', () => {
  let shared: SharedStores;
  let upstream: TestServer;
  const services: Service[] = [];
  before(async () => {
    shared = await createSharedStores();
    upstream = await startServer((request, response) => {
      if (request.method !== 'POST') return void response.end('{"data":[]}');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(NEVER_ENDS);
    });
    const env = {
      ...shared.env,
      QUIRE_UPSTREAM_URL: upstream.baseUrl,
      QUIRE_RATE_LIMITS: `requests=${LIMIT},concurrent=${CONCURRENT}`,
    };
    for (let count = 0; count < PROCESSES; count += 1) services.push(await startService({ env }));
  });
  after(async () => {
    await Promise.all(services.map((service) => service.kill()));
    await upstream.close();
    await shared.close();
  });

  const authorization = () => ({ authorization: `Bearer ${services[0]?.key}` });
  const get = async (service: Service) => {
    const response = await fetch(`${service.url}/v1/models`, { headers: authorization() });
    await response.arrayBuffer();
    return response;
  };
  const chat = (service: Service) =>
    fetch(`${service.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...authorization(), 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'general-70b', stream: true, messages: [{ role: 'user', content: 'x' }] }),
    });

  it('attempts to sign in to one account are those of all processes', async () => {
    const statuses: number[] = [];
    const body = JSON.stringify({ email: 'ada@example.com', password: 'a wrong one' });
    for (let attempt = 0; attempt < 14; attempt += 1) {
      const url = `${services[attempt % PROCESSES]?.url}/v1/session`;
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      statuses.push(answer.status);
      await answer.arrayBuffer();
    }
    // Slow attempts let one more pass every 12 s.
    const admitted = statuses.filter((status) => status === 401).length;
    assert.ok(admitted >= 5 && admitted < 10, statuses.join(' '));
    assert.equal(admitted + statuses.filter((status) => status === 429).length, 14);
  });

  it('a key gets its limit once, within one burst, and succeeds after Retry-After', async () => {
    const startedAt = performance.now();
    const counts = { admitted: 0, rejected: 0 };
    let wait = 0;
    const load = async (service: Service) => {
      while (performance.now() - startedAt < LOAD_MS) {
        const { status, headers } = await get(service);
        counts[status === 200 ? 'admitted' : 'rejected'] += 1;
        wait = Number(headers.get('retry-after') ?? wait);
      }
    };
    const limited = services.flatMap((service) => Array.from({ length: CLIENTS_PER_SERVICE }, () => load(service)));
    await Promise.all(limited);
    const bound = LIMIT + ((performance.now() - startedAt) * LIMIT) / 60_000;
    assert.ok(counts.admitted <= bound + AHEAD, `${counts.admitted} admitted, at most ${bound} + ${AHEAD}`);
    assert.ok(counts.rejected > 0, 'the load did not reach the limit');
    assert.ok(wait >= 1);
    // Shares of the other processes are returned meanwhile.
    await pause(wait * 1_000 + 2_000);
    for (const service of services) assert.equal((await get(service)).status, 200);
  });

  it('slots of a killed process are free again', async () => {
    const [first, second] = services as [Service, Service];
    const held = await Promise.all(Array.from({ length: CONCURRENT }, () => chat(first)));
    assert.deepEqual(
      held.map(({ status }) => status),
      Array(CONCURRENT).fill(200),
    );
    assert.equal((await chat(second)).status, 429);
    await first.kill();
    await until(async () => {
      const response = await chat(second);
      await response.body?.cancel();
      await pause(500);
      return response.status === 200;
    });
  });
});
