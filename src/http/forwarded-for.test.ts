import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { invalidApiKey } from '../errors.ts';
import { createLogger } from '../lib/logger.ts';
import type { App } from './app.ts';
import { unlimited } from './rate-limit.ts';
import { createServer } from './server.ts';

const TRUSTED = ['127.0.0.1', '10.0.0.0/8', '2001:db8:ff::/48'];

async function openServer(trustedProxies: readonly string[] | null, logged: string[]): Promise<App> {
  const app = await createServer({
    logger: createLogger('info', { write: (line: string) => logged.push(line) }),
    bodyLimitBytes: 1024,
    corsOrigins: null,
    trustedProxies,
    requestTimeoutMs: 0,
    authenticate: () => {
      throw invalidApiKey('no');
    },
    limiter: unlimited,
  });
  app.get('/address', { config: { scope: 'public' } }, async ({ ip }) => ({ ip }));
  return app;
}

describe('X-Forwarded-For', () => {
  const logged: string[] = [];
  let trusting: App;
  let wary: App;
  before(async () => {
    trusting = await openServer(TRUSTED, logged);
    wary = await openServer(null, logged);
  });
  after(() => Promise.all([trusting.close(), wary.close()]));

  const address = async (app: App, remoteAddress: string, header: string | string[] | undefined): Promise<string> => {
    const headers = header === undefined ? {} : { 'x-forwarded-for': header };
    return (await app.inject({ url: '/address', remoteAddress, headers })).json().ip;
  };

  for (const [name, socket, header, client] of [
    ['of a trusted proxy names the client', '127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['of another address is ignored', '203.0.113.5', '203.0.113.9', '203.0.113.5'],
    ['of a neighbour of a trusted address is ignored', '127.0.0.2', '203.0.113.9', '127.0.0.2'],
    ['of a trusted proxy on a dual-stack socket counts', '::ffff:127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['of a trusted IPv6 proxy counts', '2001:db8:ff:1::2', '2001:db8::7', '2001:db8::7'],
    ['is read from the right, past trusted proxies', '127.0.0.1', '6.6.6.6, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
    ['with mapped addresses of trusted proxies counts', '127.0.0.1', '203.0.113.9,::ffff:10.1.2.3', '203.0.113.9'],
    ['is joined from several lines', '127.0.0.1', ['6.6.6.6', '203.0.113.9', '10.1.2.3'], '203.0.113.9'],
    ['of trusted proxies only names the first', '127.0.0.1', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['may have white space', '127.0.0.1', ' 203.0.113.9 \t,10.1.2.3 ', '203.0.113.9'],
    ['with an IPv4 port counts', '127.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['with brackets and a port counts', '127.0.0.1', '[2001:db8::7]:443', '2001:db8::7'],
    ['with brackets counts', '127.0.0.1', '6.6.6.6, [2001:db8::7]', '2001:db8::7'],
    ['that is malformed is ignored', '127.0.0.1', 'unknown', '127.0.0.1'],
    ['is ignored left of a malformed value', '127.0.0.1', '6.6.6.6, unknown, 10.1.2.3', '10.1.2.3'],
    ['is ignored left of the last malformed value', '127.0.0.1', 'a, 6.6.6.6, b, 10.1.2.3', '10.1.2.3'],
    ['that ends malformed is ignored', '127.0.0.1', '203.0.113.9, 203.0.113.999', '127.0.0.1'],
    ['counts right of a malformed value', '127.0.0.1', "x' or 1=1, 203.0.113.9", '203.0.113.9'],
    ['that is empty is ignored', '127.0.0.1', '', '127.0.0.1'],
    ['that ends with a comma is ignored', '127.0.0.1', '203.0.113.9,', '127.0.0.1'],
    ['is not needed', '127.0.0.1', undefined, '127.0.0.1'],
  ] as const) {
    it(name, async () => {
      assert.equal(await address(trusting, socket, header as string | string[] | undefined), client);
    });
  }

  it('is ignored without trusted proxies, with one warning', async () => {
    logged.length = 0;
    assert.equal(await address(wary, '127.0.0.1', undefined), '127.0.0.1');
    assert.deepEqual(logged, []);
    for (let count = 0; count < 3; count += 1)
      assert.equal(await address(wary, '127.0.0.1', '203.0.113.9'), '127.0.0.1');
    assert.equal(logged.length, 1);
    assert.match(logged[0] ?? '', /"address":"127.0.0.1".*QUIRE_TRUSTED_PROXIES/);
  });
});
