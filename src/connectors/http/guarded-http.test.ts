import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { REDIRECTS } from '../../../test/support/awkward.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { GuardedHttp, readBody, redirectHeaders } from './guarded-http.ts';

const { signal } = new AbortController();
const failsWith = (code: string) => (error: unknown) => {
  assert.ok(error instanceof IngestionError, String(error));
  assert.equal(error.code, code, error.message);
  return true;
};

function* endless() {
  for (;;) yield Buffer.alloc(65_536);
}

/** A server on loopback that counts its connections. */
function useServer(listener: RequestListener) {
  const server = createServer(listener);
  const state = { port: 0, connections: 0, requests: [] as string[] };
  server.on('connection', () => (state.connections += 1));
  server.on('request', (request) => state.requests.push(request.url ?? ''));
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    state.port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return state;
}

/** Resolves names from a table; each call takes the next answer. */
function tableLookup(answers: Record<string, string[][]>): LookupFunction {
  return (hostname, _options, callback) => {
    const next = answers[hostname]?.shift() ?? [];
    callback(
      next.length === 0 ? new Error('ENOTFOUND') : null,
      next.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
}

/** Forms of URLs that lead to 127.0.0.1, ::1 or another address that is not public. `PORT` is that of the target. */
const FORMS = [
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://0177.0.0.01:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127。0。0。1:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://example.com@127.0.0.1:PORT/',
  'http://user:pass@127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT/',
  'http://[::1]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2001:0:7f00:1::]:PORT/',
  'http://[fe80::1]:PORT/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://10.0.0.1/',
  'http://192.168.0.1/',
  'http://172.16.0.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://168.63.129.16/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://localhost:PORT/',
  'http://localhost.:PORT/',
  'http://LOCALHOST:PORT/',
  'ftp://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/_x',
  'data:text/plain,x',
];

describe('GuardedHttp', () => {
  const target = useServer((_request, response) => response.end('secret'));
  const redirecting = useServer((request, response) => {
    const to = new URL(request.url ?? '/', 'http://a').searchParams.get('to') ?? '';
    response.writeHead(302, { location: to.replaceAll(/[^\p{ASCII}]+/gu, encodeURIComponent) }).end('moved');
  });

  for (const form of FORMS) {
    it(`blocks ${form} as a URL and as the target of a redirect`, async () => {
      const url = form.replace('PORT', String(target.port));
      const answers = () => ({ localhost: [['127.0.0.1']], 'localhost.': [['127.0.0.1']] });
      const http = new GuardedHttp(null, tableLookup(answers()));
      await assert.rejects(http.request(url, {}, signal), failsWith('blocked_url'));
      await http.close();
      // Only the redirecting server is allowed: by a name that the injected resolver knows.
      const lookup = tableLookup({ ...answers(), start: [['127.0.0.1']] });
      const hopping = new GuardedHttp(['start'], lookup);
      const start = `http://start:${redirecting.port}/?to=${encodeURIComponent(url)}`;
      await assert.rejects(hopping.request(start, {}, signal), failsWith('blocked_url'));
      await hopping.close();
      assert.equal(target.connections, 0);
    });
  }

  it('blocks names with a private address, also beside a public one and after a change of the DNS answer', async () => {
    const answers = { a: [['127.0.0.1']], b: [['8.8.8.8', '127.0.0.1']], c: [['::ffff:127.0.0.1']], d: [['fd00::1']] };
    const http = new GuardedHttp(null, tableLookup(answers));
    for (const name of Object.keys(answers)) {
      await assert.rejects(http.request(`http://${name}:${target.port}/`, {}, signal), failsWith('blocked_url'));
    }
    await http.close();
    assert.equal(target.connections, 0);
  });

  const plain = useServer((_request, response) => response.end('plain'));
  it('resolves a name once per connection, so that the checked address is the connected one', async () => {
    const answers = { rebind: [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']] };
    const http = new GuardedHttp(['127.0.0.1'], tableLookup(answers));
    const response = await http.request(`http://rebind:${plain.port}/`, {}, signal);
    await response.discard();
    assert.equal(answers.rebind.length, 2);
    await http.close();
    const again = new GuardedHttp(['127.0.0.1'], tableLookup(answers));
    await assert.rejects(again.request(`http://rebind:${plain.port}/`, {}, signal), failsWith('blocked_url'));
    await again.close();
  });
});

describe('GuardedHttp with an allowed host', () => {
  const seen: (string | undefined)[][] = [];
  const bomb = gzipSync(Buffer.alloc(20 * 2 ** 20));
  const server = useServer((request, response) => {
    seen.push([request.headers.authorization, request.headers.cookie]);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://a');
    const moved = (location: string) => response.writeHead(302, { location }).end();
    if (pathname === '/chain') return moved(`/chain?left=${Number(searchParams.get('left')) - 1}`);
    if (pathname === '/other') return moved(`http://127.0.0.1:${server.port}/${searchParams.get('then')}`);
    if (pathname === '/back') return moved(`http://localhost:${server.port}/text`);
    if (pathname === '/gzip') return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('hello'));
    if (pathname === '/bomb') return response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    if (pathname === '/damaged') return response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    if (pathname === '/zstd') return response.writeHead(200, { 'content-encoding': 'zstd' }).end('x');
    if (pathname === '/hang') return response.write('a');
    if (pathname === '/declared') return response.writeHead(200, { 'content-length': '5' }).write('a');
    if (pathname === '/chunked') {
      response.write('abc');
      return response.end('d');
    }
    if (pathname === '/endless')
      return void Readable.from(endless())
        .on('error', () => {})
        .pipe(response);
    return response.end('text');
  });
  const http = new GuardedHttp(['127.0.0.1', 'localhost']);
  after(() => http.close());
  const read = async (path: string, options = {}) => {
    const response = await http.request(`http://127.0.0.1:${server.port}${path}`, options, signal);
    return (await readBody(response)).toString();
  };

  it('decompresses bodies', async () => assert.equal(await read('/gzip'), 'hello'));

  it('bounds size, decompression ratio, time and redirects', async () => {
    await assert.rejects(read('/bomb'), failsWith('too_large'));
    await assert.rejects(read('/endless', { maxBytes: 1_000_000 }), failsWith('too_large'));
    await assert.rejects(read('/declared', { maxBytes: 4 }), failsWith('too_large'));
    assert.equal(await read('/chunked', { maxBytes: 4 }), 'abcd');
    await assert.rejects(read('/chunked', { maxBytes: 3 }), failsWith('too_large'));
    await assert.rejects(read('/hang', { timeoutMs: 100 }), failsWith('timeout'));
    await assert.rejects(read('/chain?left=11'), failsWith('server_error'));
    const count = server.requests.filter((path) => path.startsWith('/chain')).length;
    assert.equal(count, 11);
  });

  it('fails with a code for damaged and unknown encodings and for closed ports', async () => {
    await assert.rejects(read('/damaged'), failsWith('server_error'));
    await assert.rejects(read('/zstd'), failsWith('invalid_file'));
    await assert.rejects(http.request('http://127.0.0.1:1/', {}, signal), failsWith('server_error'));
  });

  it('does not send credentials to another origin, nor back to the first one', async () => {
    const headers = { authorization: 'Bearer x', cookie: 'a=b' };
    seen.length = 0;
    const response = await http.request(`http://localhost:${server.port}/other?then=back`, { headers }, signal);
    assert.equal((await readBody(response)).toString(), 'text');
    assert.deepEqual(seen, [
      ['Bearer x', 'a=b'],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  for (const { name, from, to, keepsCredentials } of REDIRECTS) {
    it(`${keepsCredentials ? 'keeps' : 'drops'} the credentials of a request that is redirected: ${name}`, () => {
      const headers = { accept: 'text/html', authorization: 'Bearer x', cookie: 'a=b' };
      const kept = keepsCredentials ? headers : { accept: 'text/html' };
      assert.deepEqual(redirectHeaders(headers, new URL('/a', from), new URL('/b', to)), kept);
    });
  }

  it('stops at a redirect that the caller does not follow', async () => {
    const response = await http.request(`http://127.0.0.1:${server.port}/chain`, { follow: () => false }, signal);
    await response.discard();
    assert.equal(response.status, 302);
  });
});
