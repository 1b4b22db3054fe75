import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Type } from 'typebox';
import { ApiError, invalidApiKey } from '../errors.ts';
import { serviceCaller } from '../lib/caller.ts';
import { createLogger } from '../lib/logger.ts';
import type { App } from './app.ts';
import { BodyBudget } from './body-budget.ts';
import { JsonLimits, MAX_JSON_VALUES, MAX_NAME_BYTES } from './json-limits.ts';
import { unlimited } from './rate-limit.ts';
import { createServer } from './server.ts';

const KIB = 1024;
const BUDGET_BYTES = 1024 * KIB;
const KEY = { authorization: 'Bearer good' };
const JSON_TYPE = { 'content-type': 'application/json' };

const head = (method: string, path: string, headers: Record<string, string>): string =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

describe('request bodies', () => {
  let app: App;
  let port: number;
  /** Server sockets by the port of the client. */
  const accepted = new Map<number, Socket>();
  const logged: string[] = [];
  let gate: Promise<void> = Promise.resolve();

  before(async () => {
    const logger = createLogger('info', { write: (line: string) => logged.push(line) });
    app = await createServer({
      logger,
      bodyLimitBytes: 512 * KIB,
      bodiesInFlightBytes: BUDGET_BYTES,
      corsOrigins: null,
      requestTimeoutMs: 60_000,
      // Asynchronous, like a database lookup of the key.
      authenticate: async ({ headers: { authorization: header } }) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (header !== KEY.authorization) throw invalidApiKey('no');
        return serviceCaller('org', 'key');
      },
      limiter: unlimited,
    });
    app.post('/echo', { schema: { body: Type.Object({}) } }, async ({ body }) => {
      await gate;
      return { length: JSON.stringify(body).length };
    });
    app.post('/bodiless', { schema: {} }, async ({ body }) => ({ body: body ?? null }));
    app.get('/open', { config: { scope: 'public' } }, async () => ({}));
    app.post('/sign-in', { schema: { body: Type.Object({}) }, config: { scope: 'public' } }, async () => {
      await gate;
      return {};
    });
    app.server.on('connection', (socket: Socket) => {
      accepted.set(socket.remotePort ?? 0, socket);
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    ({ port } = app.server.address() as AddressInfo);
  });
  after(() => app.close());

  const post = async (body: string | Buffer, path = '/echo') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { ...KEY, ...JSON_TYPE },
      body,
    });
    const json = (await response.json()) as {
      length?: number;
      error?: { code: string; param: string; message: string };
    };
    return { status: response.status, json, code: json.error?.code, param: json.error?.param };
  };

  /** Sends a head, then 8 MiB in small writes. Resolves with the response and the bytes that the server read. */
  async function flood(method: string, path: string, headers: Record<string, string>) {
    const socket = connect(port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => {});
    await once(socket, 'connect');
    const { localPort = 0 } = socket;
    socket.write(head(method, path, headers));
    // The body is sent after the head was processed, so after the response in many cases.
    while (accepted.get(localPort)?.bytesRead === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    for (let sent = 0; sent < 512 && !socket.destroyed; sent += 1) {
      // A chunk of a chunked body; also plain bytes of other bodies.
      socket.write(`4000\r\n${'a'.repeat(16 * KIB)}\r\n`);
    }
    await closed;
    return { status: Number(text.split(' ')[1]), text, bytesRead: accepted.get(localPort)?.bytesRead ?? 0 };
  }

  const large = { ...JSON_TYPE, 'content-length': String(8 * 1024 * KIB) };
  // Concurrent, because each waits for the end of the lingering close.
  describe('are not read, and the connection is closed after the response', { concurrency: true }, () => {
    for (const [name, status, method, path, headers] of [
      ['an unknown path', 404, 'POST', '/nope', large],
      ['an unknown path, chunked', 404, 'POST', '/nope', { ...JSON_TYPE, 'transfer-encoding': 'chunked' }],
      ['a wrong method', 405, 'DELETE', '/echo', large],
      ['a public route', 200, 'GET', '/open', large],
      ['no key', 401, 'POST', '/echo', large],
      ['an unknown key', 401, 'POST', '/echo', { ...large, authorization: 'Bearer bad' }],
      ['OPTIONS', 404, 'OPTIONS', '/nope', large],
      ['a route without a body', 200, 'POST', '/bodiless', { ...large, ...KEY }],
      ['a body that is too large', 413, 'POST', '/echo', { ...large, ...KEY }],
    ] as const) {
      it(`of ${name}`, async () => {
        const { bytesRead, text, ...seen } = await flood(method, path, headers);
        assert.equal(seen.status, status, text);
        assert.match(text, /connection: close/i);
        // One read of 64 KiB, plus up to 16 KiB buffered before it.
        assert.ok(bytesRead <= 80 * KIB, `${bytesRead} bytes were read`);
      });
    }
  });

  it('of rejected requests are discarded when short, and the connection is reused', async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    const request = `${head('POST', '/nope', { 'content-length': '5' })}hello`;
    let text = '';
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.split('HTTP/1.1 404').length === 2) socket.write(request);
      else if (text.endsWith('}')) socket.end();
    });
    socket.write(request);
    await once(socket, 'close');
    assert.equal(text.split('HTTP/1.1 404').length, 3, text);
  });

  it('get 100 Continue only after admission', async () => {
    const expect = { ...JSON_TYPE, expect: '100-continue', 'content-length': '2' };
    const talk = async (headers: Record<string, string>, path = '/echo') => {
      const socket = connect(port, '127.0.0.1').setEncoding('latin1');
      let text = '';
      socket.on('data', (chunk: string) => {
        text += chunk;
        if (text.endsWith('100 Continue\r\n\r\n')) socket.write('{}');
        else if (text.endsWith('}')) socket.end();
      });
      socket.write(head('POST', path, headers));
      await once(socket, 'close');
      return text;
    };
    assert.match(await talk({ ...expect, ...KEY }), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
    assert.match(await talk(expect), /^HTTP\/1.1 401/);
    assert.match(await talk(expect, '/nope'), /^HTTP\/1.1 404/);
  });

  it('must be UTF-8, with or without a byte order mark, at any size', async () => {
    for (const size of [10, 300 * KIB]) {
      const text = `{"a":"${'é'.repeat(size / 2)}"}`;
      assert.equal((await post(text)).json.length, text.length);
      assert.equal((await post(`\uFEFF${text}`)).json.length, text.length);
      const broken = Buffer.from(text);
      broken[broken.length - 4] = 0xff;
      assert.deepEqual([(await post(broken)).status, (await post(broken)).code], [400, 'invalid_json']);
      const cut = Buffer.from(text).subarray(0, -3);
      assert.deepEqual([(await post(cut)).status, (await post(cut)).code], [400, 'invalid_json']);
    }
  });

  it('are rejected with 400 for too many values or too long member names', async () => {
    const values = (count: number) => `{"a":[${'1,'.repeat(count - 1)}1]}`;
    assert.equal((await post(values(MAX_JSON_VALUES - 3))).status, 200);
    const { status, code, param } = await post(values(MAX_JSON_VALUES));
    assert.deepEqual([status, code, param], [400, 'invalid_value', 'body']);
  });

  it('cause no server error when the client disconnects in the middle', async () => {
    logged.length = 0;
    const socket = connect(port, '127.0.0.1');
    socket.write(head('POST', '/echo', { ...JSON_TYPE, ...KEY, 'content-length': '100' }));
    socket.write('{"a":');
    await once(socket, 'connect');
    const server = accepted.get(socket.localPort ?? 0) as Socket;
    while (server.bytesRead < 100) await new Promise((resolve) => setTimeout(resolve, 5));
    const closed = once(server, 'close');
    socket.destroy();
    await closed;
    // The next request is served only after the previous one is completely handled.
    assert.equal((await post('{}')).status, 200);
    assert.deepEqual(logged, []);
  });

  it('are rejected with 503 while too many bytes are in flight, and accepted after their responses', async () => {
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    const body = `{"a":"${'x'.repeat(300 * KIB)}"}`;
    const sent = [post(body), post(body)];
    const first = await Promise.race(sent);
    assert.deepEqual([first.status, first.code], [503, 'engine_unavailable']);
    opened.resolve();
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [200, 503]);
    assert.equal((await post(body)).status, 200);
  });

  it('without a key are rejected with 503 while too many requests of the client run, and accepted afterwards', async () => {
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    const sent = Array.from({ length: 33 }, () => post('{}', '/sign-in'));
    const first = await Promise.race(sent);
    assert.deepEqual([first.status, first.code], [503, 'engine_unavailable']);
    opened.resolve();
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [...Array(32).fill(200), 503]);
    for (let count = 0; count < 40; count += 1) assert.equal((await post('{}', '/sign-in')).status, 200);
  });
});

describe('JsonLimits', () => {
  const counted = (text: string, cut: number): boolean => {
    const limits = new JsonLimits();
    try {
      for (let at = 0; at < text.length; at += cut) limits.scan(Buffer.from(text.slice(at, at + cut)));
      return true;
    } catch (error) {
      assert.ok(error instanceof ApiError && error.code === 'invalid_value');
      return false;
    }
  };

  it('counts values outside strings, independent of chunk boundaries', () => {
    const inString = `["${'[{,:'.repeat(MAX_JSON_VALUES)}"]`;
    const escaped = `["\\"${',\\"'.repeat(3 * MAX_JSON_VALUES)}\\\\"]`;
    const many = `[${'1,'.repeat(MAX_JSON_VALUES)}1]`;
    for (const cut of [1, 7, 65_536]) {
      assert.ok(counted(inString, cut));
      assert.ok(counted(escaped, cut));
      assert.ok(!counted(many, cut));
      assert.ok(!counted(`["\\\\",${'[],'.repeat(MAX_JSON_VALUES / 2)}1]`, cut));
    }
  });

  it('counts the bytes of member names, not of values', () => {
    const text = 'x'.repeat(MAX_NAME_BYTES);
    assert.ok(counted(`{"a":"${text}"}`, 65_536));
    assert.ok(!counted(`{"${text}":"a"}`, 65_536));
  });
});

describe('BodyBudget', () => {
  const refused = (step: () => void) =>
    assert.throws(step, (error) => error instanceof ApiError && error.status === 503);

  it('limits all organizations together, and each to half', () => {
    const budget = new BodyBudget(100);
    const [a, b, c] = [budget.open('a'), budget.open('b'), budget.open('c')];
    a.grow(50);
    refused(() => a.grow(1));
    refused(() => budget.open('a').grow(1));
    b.grow(50);
    refused(() => c.grow(1));
    b.release();
    c.grow(50);
    assert.equal(budget.heldBytes, 100);
  });

  it('release is idempotent', () => {
    const budget = new BodyBudget(100);
    const held = budget.open('a');
    held.grow(30);
    held.grow(20);
    held.release();
    held.release();
    assert.equal(budget.heldBytes, 0);
    budget.open('a').grow(50);
  });
});
