/** Bounds of every route that needs no key. Reads the route table, so that they hold for new routes. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { MAX_PUBLIC_BODY_BYTES } from '../src/http/public-bodies.ts';
import { useApi } from './harness.ts';
import { listRoutes, type Route, routeName } from './route-table.ts';

const isPublic = ({ config }: Route) => config?.scope === 'public';
const ROUTES = (await listRoutes('/')).filter(isPublic);
const WITH_BODY = ROUTES.filter(({ hasBody }) => hasBody);

/** A path of the route. */
const pathOf = ({ url }: Route) => url.replaceAll(/:\w+|\*/g, 'x');

/** Sends a head and a part of a body. Resolves with the response. */
async function sendPart(url: string, route: Route, headers: Record<string, string>, part: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect(Number(port), hostname).setEncoding('utf8');
  const lines = Object.entries({ host: 'x', 'content-type': 'application/json', ...headers });
  socket.write(
    `${route.method} ${pathOf(route)} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`,
  );
  socket.write(part);
  let text = '';
  socket.on('data', (chunk: string) => {
    text += chunk;
    socket.end();
  });
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

const statusOf = (text: string) => Number(text.split(' ')[1]);

describe('routes without a key', () => {
  const api = useApi();
  const impatient = useApi({ timeouts: { publicBodyMs: 300 } });

  /** JSON of `bytes` bytes. */
  const json = (bytes: number) => '{"x":""}'.replace('""', `"${'x'.repeat(bytes - 8)}"`);

  it('are found, with and without bodies', () => {
    const names = ROUTES.map(routeName);
    for (const name of ['POST /v1/session', 'POST /v1/invitations/accept', 'GET /healthz', 'GET /docs'])
      assert.ok(names.includes(name), name);
    assert.ok(WITH_BODY.length >= 6);
  });

  it('serialize the description of the API once', async (t) => {
    const stringify = t.mock.method(JSON, 'stringify');
    for (const path of ['/openapi.json', '/docs/json', '/openapi.json', '/docs/json']) {
      const { status, json: document, headers } = await api.send('GET', path, { key: null });
      assert.deepEqual([status, document.info.title], [200, 'Quire'], path);
      assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    }
    const documents = stringify.mock.calls.filter(({ arguments: [value] }) => value?.openapi !== undefined);
    assert.equal(documents.length, 1);
  });

  for (const route of WITH_BODY) {
    const send = (body: string, headers = {}) =>
      api.send(route.method, pathOf(route), { key: null, body, headers: { origin: api.url, ...headers } });

    it(`${routeName(route)} reads ${MAX_PUBLIC_BODY_BYTES} bytes and no more`, async () => {
      assert.notEqual((await send(json(MAX_PUBLIC_BODY_BYTES))).status, 413);
      const { status, json: answer } = await send(json(MAX_PUBLIC_BODY_BYTES + 1));
      assert.deepEqual([status, answer.error.code], [413, 'request_too_large']);
      assert.match(answer.error.message, /16384 bytes/);
      const announced = { 'content-length': String(MAX_PUBLIC_BODY_BYTES + 1) };
      assert.equal(statusOf(await sendPart(api.url, route, announced, '{')), 413);
      const size = (MAX_PUBLIC_BODY_BYTES + 1).toString(16);
      const chunked = `${size}\r\n${json(MAX_PUBLIC_BODY_BYTES + 1)}\r\n`;
      assert.equal(statusOf(await sendPart(api.url, route, { 'transfer-encoding': 'chunked' }, chunked)), 413);
    });

    it(`${routeName(route)} reads no body that is compressed or of another type`, async () => {
      const long = { 'content-length': String(2 ** 20) };
      for (const headers of [{ 'content-encoding': 'gzip' }, { 'content-type': 'text/plain' }])
        assert.equal(statusOf(await sendPart(api.url, route, { ...long, ...headers }, '{')), 415);
    });

    it(`${routeName(route)} ends a body that arrives too slowly with 408, and its connection`, async () => {
      for (const headers of [{ 'content-length': '100' }, { 'transfer-encoding': 'chunked' }]) {
        const text = await sendPart(impatient.url, route, headers, '1\r\n{\r\n');
        assert.equal(statusOf(text), 408, text);
        assert.match(text, /"code":"request_timeout"/);
        assert.match(text, /connection: close/i);
      }
    });
  }

  for (const route of ROUTES.filter(({ hasBody }) => !hasBody)) {
    it(`${routeName(route)} does not wait for a body`, async () => {
      assert.ok(statusOf(await sendPart(api.url, route, { 'content-length': '100' }, '{')) >= 200);
    });
  }
});
