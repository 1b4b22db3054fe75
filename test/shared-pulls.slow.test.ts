import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../src/db/db.ts';
import { openPostgres } from '../src/db/postgres.ts';
import { createLogger } from '../src/lib/logger.ts';
import { CAT } from './fixtures/cat-model.ts';
import { redirectHeaders, useHub } from './fixtures/hub-server.ts';
import { createSharedStores, type SharedStores } from './shared-stores.ts';
import { newDataDir, type Service, startService, until } from './spawned-service.ts';

const HUB_PATH = '/some-one/models_1/resolve/main/Kitty-v1.0.gguf';
const SOURCE = 'hf:some-one/models_1/Kitty-v1.0.gguf';
const RECEIVED = 1_000_000;

describe('a pull of one of two processes', () => {
  const hub = useHub();
  let shared: SharedStores;
  let db: Database;
  let env: Record<string, string>;
  let first: Service;
  let second: Service;
  let name: string;
  before(async () => {
    hub.files.set(HUB_PATH, CAT);
    shared = await createSharedStores();
    db = await openPostgres(shared.database.url, createLogger('silent'));
    env = { ...shared.env, QUIRE_HUB_URL: hub.url };
    [first, second] = await Promise.all([
      startService({ env, dataDir: newDataDir() }),
      startService({ env, dataDir: newDataDir() }),
    ]);
  });
  after(async () => {
    await Promise.all([first?.kill(), second?.kill()]);
    await db.close();
    await shared.close();
  });

  const send = async (service: Service, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${service.url}/v1/admin/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
    return { status: response.status, json: (await response.json()) as any };
  };
  const listPulls = async (service: Service) => (await send(service, 'GET', 'model-pulls')).json.data;
  /** Starts a pull whose transfer stalls. */
  const startStalled = async (service: Service) => {
    hub.acts.push((request, response) => {
      if (request.headers.range !== undefined) return false;
      response
        .writeHead(200, { 'content-length': CAT.length, ...redirectHeaders(CAT) })
        .write(CAT.subarray(0, RECEIVED));
      return true;
    });
    const { status, json } = await send(service, 'POST', 'model-pulls', { source: SOURCE });
    assert.equal(status, 200, JSON.stringify(json));
    name = json.name;
  };

  it('is seen and cancelled through the other one', async () => {
    await startStalled(first);
    const [started] = await listPulls(second);
    assert.equal(started.state, 'pulling');
    assert.match(started.location, new RegExp(`:${join(first.dataDir, 'models')}$`));
    await until(async () => (await listPulls(second))[0].received_bytes === RECEIVED);
    const cancelled = await send(second, 'POST', `model-pulls/${name}/cancel`);
    assert.deepEqual([cancelled.status, cancelled.json.state], [200, 'cancelled']);
    for (const service of [first, second]) {
      assert.deepEqual(
        (await listPulls(service)).map(({ state }: { state: string }) => state),
        ['cancelled'],
      );
    }
    assert.equal((await send(second, 'POST', `model-pulls/${name}/cancel`)).status, 404);
  });

  it('has failed for the other one when its process was killed, and resumes', async () => {
    // The cancelled pull has left a part.
    hub.files.set(HUB_PATH, CAT);
    await first.quire('models', 'remove', name);
    await startStalled(first);
    await until(async () => (await listPulls(second)).at(-1).received_bytes === RECEIVED);
    await first.kill();
    assert.equal((await listPulls(second)).at(-1).state, 'pulling');
    await db.execute("update model_pulls set seen_at = seen_at - interval '31 seconds'");
    const lost = (await listPulls(second)).at(-1);
    assert.deepEqual(
      [lost.state, lost.detail],
      ['failed', 'The process that pulled it has ended. The next pull resumes it.'],
    );
    assert.equal((await send(second, 'POST', `model-pulls/${name}/cancel`)).status, 404);
    hub.acts.length = 0;
    first = await startService({ env, dataDir: first.dataDir });
    assert.equal((await send(first, 'POST', 'model-pulls', { source: SOURCE })).status, 200);
    await until(async () => (await listPulls(second)).at(-1).state === 'completed');
    assert.equal(hub.seen.at(-1)?.range, `bytes=${RECEIVED}-`);
    assert.equal((await listPulls(second)).length, 1);
  });

  it('names its process when the model is bound through the other one', async () => {
    const bind = (service: Service) => send(service, 'PUT', 'models/general-8b/binding', { model: name });
    const { status, json } = await bind(second);
    assert.equal(status, 400);
    assert.match(
      json.error.message,
      new RegExp(`only \\S+:${join(first.dataDir, 'models')} has: bind it there, or pull it`),
    );
    assert.equal((await bind(first)).status, 200);
    assert.equal((await send(first, 'PUT', 'models/general-8b/binding', { model: 'bundled' })).status, 200);
    assert.equal((await send(first, 'DELETE', `model-files/${name}`)).status, 200);
    assert.equal((await bind(second)).status, 404);
  });
});
