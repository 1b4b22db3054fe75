import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { apiClient, Refused } from './api-client.ts';

describe('the client of the commands', () => {
  const asked: string[] = [];
  /** Requests that are answered with 429 before one is let through. */
  let refusals = 0;
  let retryAfter = '0';
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    if (refusals > 0) {
      refusals -= 1;
      response.writeHead(429, { 'retry-after': retryAfter });
      response.end('{"error": {"message": "Too many requests."}}');
      return;
    }
    const isFirst = request.url?.includes('after=b') === false;
    response.end(JSON.stringify({ data: [{ id: isFirst ? 'b' : 'c' }], has_more: isFirst, last_id: 'b' }));
  });
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    process.env['QUIRE_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1//`;
    process.env['QUIRE_API_KEY'] = 'quire-sk-x';
  });
  after(() => server.close());

  it('reads a list page by page, from where it is told', async () => {
    const ids: string[] = [];
    for await (const { id } of apiClient().list('/v1/files', { after: 'a', purpose: 'batch' })) ids.push(id);
    assert.deepEqual(ids, ['b', 'c']);
    assert.deepEqual(asked.splice(0), [
      'GET /v1/files?limit=100&after=a&purpose=batch Bearer quire-sk-x',
      'GET /v1/files?limit=100&after=b&purpose=batch Bearer quire-sk-x',
    ]);
  });

  it('sends again what came too fast, when it is told how long to wait, and not for ever', async () => {
    refusals = 3;
    await apiClient().send('POST', '/v1/x', { a: 1 });
    assert.equal(asked.splice(0).length, 4);
    refusals = 100;
    await assert.rejects(apiClient().send('GET', '/v1/x'), new Refused(429, 'Too many requests.'));
    assert.equal(asked.splice(0).length, 6);
    retryAfter = '3600';
    await assert.rejects(apiClient().send('GET', '/v1/x'), { message: '429: Too many requests.' });
    assert.equal(asked.splice(0).length, 1);
  });
});
