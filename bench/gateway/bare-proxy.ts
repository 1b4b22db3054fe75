/**
 * Minimal gateway in Node, the reference for the cost of Quire: parses the request, forwards it with `undici`, parses
 * and serializes the response (of a stream, every event).
 * `node bench/gateway/bare-proxy.ts --upstream http://127.0.0.1:PORT`
 *
 * No authentication, validation, accounting or error mapping.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';

const { values: flags } = parseArgs({ options: { upstream: { type: 'string' } } });
const pool = new Pool(flags.upstream ?? 'http://127.0.0.1:1');

async function proxy(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const question: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'));
  const answer = await pool.request({
    method: 'POST',
    path: request.url ?? '/',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
  });
  if (String(answer.headers['content-type']).startsWith('text/event-stream')) {
    response.writeHead(answer.statusCode, { 'content-type': 'text/event-stream; charset=utf-8' });
    await relayEvents(answer.body, response);
    response.end();
    return;
  }
  const body = JSON.stringify(await answer.body.json());
  response.writeHead(answer.statusCode, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

async function relayEvents(body: AsyncIterable<Uint8Array>, response: ServerResponse): Promise<void> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const piece of body) {
    pending += decoder.decode(piece, { stream: true });
    let end = pending.indexOf('\n\n');
    while (end >= 0) {
      const data = pending.slice('data: '.length, end);
      pending = pending.slice(end + 2);
      response.write(`data: ${data === '[DONE]' ? data : JSON.stringify(JSON.parse(data))}\n\n`);
      end = pending.indexOf('\n\n');
    }
  }
}

const server = createServer((request, response) => {
  proxy(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end(String(error));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`bare proxy at http://127.0.0.1:${address.port}`);
});
