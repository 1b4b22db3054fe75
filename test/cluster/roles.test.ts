import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { newDataDir, type Service, startApi, startWorker, until } from '../spawned-service.ts';
import { isInstalled, type LoadBalancer, startLoadBalancer } from './load-balancers.ts';
import { type Json, send } from './traffic.ts';

/** Guard for a hang of the test itself, on a machine with other work. */
const TIMEOUT_MS = 600_000;
/** Clients of each load balancer. */
const CLIENTS = 8;

describe('processes of one role', { timeout: TIMEOUT_MS }, () => {
  let shared: SharedStores;
  let upstream: TestServer;
  let env: Record<string, string>;
  const apis: Service[] = [];
  before(async () => {
    shared = await createSharedStores({ isMigrated: false });
    upstream = await startModelServer();
    env = { ...shared.env, QUIRE_UPSTREAM_URL: upstream.baseUrl, QUIRE_DRAIN_DELAY: '2' };
    apis.push(...(await Promise.all([1, 2, 3].map(() => startApi({ dataDir: newDataDir(), env })))));
  });
  after(async () => {
    await Promise.all(apis.map((api) => api.kill()));
    await upstream.close();
    await shared.close();
  });

  it('a worker serves health and metrics on its port, and runs the kinds of jobs that QUIRE_JOBS names', async () => {
    const [api] = apis as [Service];
    const worker = await startWorker({
      dataDir: newDataDir(),
      env: { ...env, QUIRE_WORKER_PORT: '0', QUIRE_JOBS: 'batch:1' },
    });
    const get = async (path: string) => (await fetch(worker.url + path)).status;
    assert.deepEqual(
      await Promise.all(['/healthz', '/readyz', '/version', '/v1/models'].map(get)),
      [200, 200, 200, 404],
    );
    assert.match(await (await fetch(`${worker.url}/metrics`)).text(), /^process_cpu_user_seconds_total /m);

    const call = async (method: string, path: string, body?: object): Promise<Json> =>
      (await send(api, method, path, body))?.json;
    const base = await call('POST', '/v1/knowledge-bases', { name: 'Base' });
    const documents = `/v1/knowledge-bases/${base.id}/documents`;
    const posted = await call('POST', documents, { key: 'a', text: 'Granite is a stone.' });
    const status = async () => (await call('GET', `${documents}/${posted.id}`)).status;
    await pause(5_000);
    assert.equal(await status(), 'processing');
    const other = await startWorker({ dataDir: newDataDir(), env: { ...env, QUIRE_JOBS: 'ingestion:1' } });
    await until(async () => (await status()) === 'completed');
    assert.equal((await worker.stop()).code, 0);
    assert.equal((await other.stop()).code, 0);
  });

  const balancers = (['haproxy', 'nginx'] as const).filter(isInstalled);
  const skip = balancers.length === 0 && 'neither haproxy nor nginx is installed';
  it('three restarts, one after the other, fail no request behind a load balancer', { skip }, async (t) => {
    const urls = apis.map(({ url }) => url);
    const running = await Promise.all(balancers.map((name) => startLoadBalancer(name, urls, join(newDataDir(), name))));
    const outcomes: Record<string, number> = {};
    let isOver = false;
    const count = (outcome: string) => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    };
    const clients = running.flatMap((balancer, i) =>
      Array.from({ length: CLIENTS }, async (_, client) => {
        while (!isOver) count(`${balancers[i]} ${await chat(balancer, apis[0]?.key ?? '', client % 2 === 0)}`);
      }),
    );
    for (const [i, api] of apis.entries()) {
      await pause(1_000);
      assert.equal((await api.stop()).code, 0);
      const { port } = new URL(api.url);
      apis[i] = await startApi({ dataDir: api.dataDir, env: { ...env, QUIRE_PORT: port } });
      await pause(2_000);
    }
    isOver = true;
    await Promise.all(clients);
    await Promise.all(running.map((balancer) => balancer.stop()));
    t.diagnostic(JSON.stringify(outcomes));
    const failures = Object.keys(outcomes).filter((outcome) => !outcome.endsWith(' ok'));
    assert.deepEqual(failures, [], running.map((balancer) => balancer.output()).join('\n'));
  });
});

/** Sends a chat. Returns `ok` for a complete answer, otherwise the status or the error. */
async function chat({ url }: LoadBalancer, key: string, stream: boolean): Promise<string> {
  const body = { model: 'general-8b', messages: [{ role: 'user', content: 'The fox' }], max_tokens: 40, stream };
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const isComplete = stream ? text.endsWith('data: [DONE]\n\n') : text.includes('"finish_reason"');
    return response.status === 200 && isComplete ? 'ok' : `${response.status} ${text.slice(-200)}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}
