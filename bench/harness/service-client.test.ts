import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connectService, type ServiceClient, ServiceError } from './service-client.ts';

describe('ServiceClient', () => {
  const seen: string[] = [];
  const answers: ((reply: ServerResponse) => void)[] = [];
  const server = createServer((request: IncomingMessage, reply) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    answers.shift()?.(reply);
  });
  let service: ServiceClient;
  const json =
    (status: number, value: object, headers: Record<string, string> = {}) =>
    (reply: ServerResponse) =>
      reply.writeHead(status, headers).end(JSON.stringify(value));
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    service = await connectService({ url: `http://127.0.0.1:${port}/v1/`, key: 'k' });
  });
  after(() => server.close());

  it('sends the API key, with or without /v1 in the URL', async () => {
    answers.push(json(200, { ok: true }), json(200, { backend: { engine: 'local', model: 'm', parameters: 5 } }));
    assert.deepEqual(await service.post('/v1/rerank', {}), { ok: true });
    assert.equal((await service.servedBackend('a-model')).model, 'm');
    assert.deepEqual(seen, ['POST /v1/rerank Bearer k', 'GET /v1/models/a-model Bearer k']);
  });

  it('retries after Retry-After', async () => {
    answers.push(json(503, {}, { 'retry-after': '1' }), json(200, { second: true }));
    assert.deepEqual(await service.post('/v1/embeddings', {}), { second: true });
  });

  it('rejects with the code and parameter of the error object, or with the body of a proxy', async () => {
    answers.push(json(400, { error: { code: 'token_limit_exceeded', param: 'input.3' } }));
    await assert.rejects(
      service.post('/v1/embeddings', {}),
      (error) => error instanceof ServiceError && error.code === 'token_limit_exceeded' && error.param === 'input.3',
    );
    answers.push((reply) => reply.writeHead(502).end('<html>Bad gateway</html>'));
    await assert.rejects(service.post('/v1/embeddings', {}), /answered 502: <html>Bad gateway/);
  });
});
