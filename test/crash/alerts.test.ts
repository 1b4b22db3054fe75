import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { newDataDir, type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { NO_TIME_LIMIT, ROUNDS } from './rounds.ts';

useEmbeddedDatabases();

/** A channel, a delivery, or a list of deliveries. */
interface Answer {
  id: string;
  data: { status: string }[];
}

describe('a message of an alert whose service is killed', () => {
  let hook: TestServer;
  /** Whether the receiver answers. */
  let isAnswering = true;
  before(async () => {
    hook = await startServer((_request, response) => {
      if (isAnswering) response.writeHead(204).end();
    });
  });
  after(() => hook.close());

  const call = async (service: Service, method: string, path: string, body?: object) => {
    const response = await fetch(`${service.url}/v1/alert-channels${path}`, {
      method,
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Answer;
  };

  it(
    'is sent again after the restart with the same webhook-id, when it was received but not acknowledged',
    NO_TIME_LIMIT,
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const options = { dataDir: newDataDir(), env: { QUIRE_ALLOW_PRIVATE_HOSTS: '127.0.0.1' } };
        const service = await startService(options);
        const { id } = await call(service, 'POST', '', { type: 'webhook', name: 'Pager', url: hook.baseUrl });
        isAnswering = false;
        hook.requests.length = 0;
        const { id: deliveryId } = await call(service, 'POST', `/${id}/test`, {});
        await until(() => hook.requests.length === 1);
        await service.kill();
        isAnswering = true;
        const again = await startService(options);
        const read = async () => (await call(again, 'GET', `/${id}/deliveries`)).data[0];
        await until(async () => (await read())?.status === 'delivered');
        assert.deepEqual(
          hook.requests.map(({ headers }) => headers['webhook-id']),
          [deliveryId, deliveryId],
        );
        assert.deepEqual(hook.requests[0]?.body, hook.requests[1]?.body);
        await again.kill();
      }
    },
  );
});
