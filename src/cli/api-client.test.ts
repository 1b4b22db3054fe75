import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { openApiClient } from './api-client.ts';
import { HttpStatusError } from './client-errors.ts';

describe('API client of the commands', () => {
  const requests: string[] = [];
  /** Number of requests that are rejected with 429. */
  let rejections = 0;
  let retryAfter = '0';
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    if (rejections > 0) {
      rejections -= 1;
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

  it('lists page by page from the start cursor', async () => {
    const ids: string[] = [];
    for await (const { id } of (await openApiClient()).list('/v1/files', { after: 'a', purpose: 'batch' }))
      ids.push(id);
    assert.deepEqual(ids, ['b', 'c']);
    assert.deepEqual(requests.splice(0), [
      'GET /v1/files?limit=100&after=a&purpose=batch Bearer quire-sk-x',
      'GET /v1/files?limit=100&after=b&purpose=batch Bearer quire-sk-x',
    ]);
  });

  it('retries a 429 after Retry-After, a bounded number of times', async () => {
    rejections = 3;
    await (await openApiClient()).send('POST', '/v1/x', { a: 1 });
    assert.equal(requests.splice(0).length, 4);
    rejections = 100;
    await assert.rejects((await openApiClient()).send('GET', '/v1/x'), new HttpStatusError(429, 'Too many requests.'));
    assert.equal(requests.splice(0).length, 6);
    retryAfter = '3600';
    await assert.rejects((await openApiClient()).send('GET', '/v1/x'), { message: '429: Too many requests.' });
    assert.equal(requests.splice(0).length, 1);
  });
});
