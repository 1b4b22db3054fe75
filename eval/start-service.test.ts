import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { RefusedError, type Service, startService } from './start-service.ts';

describe('a running service, as an evaluation sees it', () => {
  const seen: string[] = [];
  const answers: ((reply: ServerResponse) => void)[] = [];
  const server = createServer((request: IncomingMessage, reply) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    answers.shift()?.(reply);
  });
  let service: Service;
  const json =
    (status: number, value: object, headers: Record<string, string> = {}) =>
    (reply: ServerResponse) =>
      reply.writeHead(status, headers).end(JSON.stringify(value));
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    service = await startService({ url: `http://127.0.0.1:${port}/v1/`, key: 'k' });
  });
  after(() => server.close());

  it('is asked with the key, wherever its URL ends', async () => {
    answers.push(json(200, { ok: true }), json(200, { backend: { engine: 'local', model: 'm', parameters: 5 } }));
    assert.deepEqual(await service.ask('/v1/rerank', {}), { ok: true });
    assert.equal((await service.backendOf('a-model')).model, 'm');
    assert.deepEqual(seen, ['POST /v1/rerank Bearer k', 'GET /v1/models/a-model Bearer k']);
  });

  it('is asked again when it says when', async () => {
    answers.push(json(503, {}, { 'retry-after': '1' }), json(200, { second: true }));
    assert.deepEqual(await service.ask('/v1/embeddings', {}), { second: true });
  });

  it('refuses with the code and the field of its error, or with what a proxy has said', async () => {
    answers.push(json(400, { error: { code: 'token_limit_exceeded', param: 'input.3' } }));
    await assert.rejects(
      service.ask('/v1/embeddings', {}),
      (error) => error instanceof RefusedError && error.code === 'token_limit_exceeded' && error.param === 'input.3',
    );
    answers.push((reply) => reply.writeHead(502).end('<html>Bad gateway</html>'));
    await assert.rejects(service.ask('/v1/embeddings', {}), /answered 502: <html>Bad gateway/);
  });
});
