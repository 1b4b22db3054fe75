import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { request } from 'undici';
import { createProxyAgent, type ProxySettings } from './proxy.ts';

/** Starts a server that is a proxy and a target; returns its address and what it was asked. */
async function startProxy(t: TestContext) {
  const seen: string[] = [];
  const server = createServer((received, response) => {
    seen.push(`${received.method} ${received.url}`);
    response.end('ok');
  });
  server.on('connect', (received, socket) => {
    seen.push(`${received.method} ${received.url}`);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** Sends a request through the agent of its protocol. */
async function send(t: TestContext, url: string, proxy: Partial<ProxySettings>): Promise<void> {
  const settings = { httpProxy: null, httpsProxy: null, noProxy: null, ...proxy };
  const agent = createProxyAgent(settings, new URL(url).protocol);
  t.after(() => agent.destroy());
  await request(url, { dispatcher: agent }).then(
    ({ body }) => body.dump(),
    () => {},
  );
}

describe('createProxyAgent', () => {
  it('uses the proxy of the protocol, and no other', async (t) => {
    const proxy = await startProxy(t);
    const target = await startProxy(t);
    const through = `http://${proxy.address}`;
    await send(t, `https://${target.address}/`, { httpsProxy: through });
    assert.deepEqual(proxy.seen.splice(0), [`CONNECT ${target.address}`]);
    await send(t, `https://${target.address}/`, { httpProxy: through });
    await send(t, `http://${target.address}/`, { httpsProxy: through });
    assert.deepEqual(proxy.seen, []);
    assert.deepEqual(target.seen, ['GET /']);
    await send(t, `http://${target.address}/a`, { httpProxy: through });
    assert.equal(proxy.seen.length, 1);
    assert.deepEqual(target.seen, ['GET /']);
  });

  it('does not use it for hosts of NO_PROXY, and does not read the environment', async (t) => {
    const proxy = await startProxy(t);
    const target = await startProxy(t);
    const through = `http://${proxy.address}`;
    await send(t, `http://${target.address}/`, { httpProxy: through, noProxy: 'example.com,127.0.0.1' });
    const before = process.env['http_proxy'];
    process.env['http_proxy'] = through;
    t.after(() => {
      if (before === undefined) delete process.env['http_proxy'];
      else process.env['http_proxy'] = before;
    });
    await send(t, `http://${target.address}/`, {});
    assert.deepEqual([proxy.seen, target.seen], [[], ['GET /', 'GET /']]);
  });
});
