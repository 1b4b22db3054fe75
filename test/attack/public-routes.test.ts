import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { type Service, startService } from '../spawned-service.ts';
import { type FloodOptions, startFlood } from './flood.ts';
import { scaled } from './scale.ts';

const MB = 1_000_000;
const MEASURED_MS = scaled(6_000, 2_000);
/** Before public routes had bounds of their own, 3 to 6 % of the chats were left. */
const LEAST_PART = 0.15;
const ROUNDS = 3;
/** Connections of the flood, each of which sends one body after the other. */
const FLOODS = 2;
/** Connections that never end a body of the maximum size. */
const SMALL_UNFINISHED = 1_000;
const FORM = JSON.stringify({
  email: 'a@b.c',
  password: 'x'.repeat(20),
  token: 'x'.repeat(43),
  new_password: 'x'.repeat(20),
});
const PATHS = ['/v1/session', '/v1/session/oidc', '/v1/session/password-reset', '/v1/invitations/accept'];

const head = (path: string, bytes: number): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;

describe('routes without a key', () => {
  let upstream: TestServer;
  let service: Service;
  before(async () => {
    upstream = await startServer((_request, response) => {
      const message = { role: 'assistant', content: 'Hello.' };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'a', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
    });
    service = await startService({ env: { QUIRE_UPSTREAM_URL: upstream.baseUrl, QUIRE_MEMORY_LIMIT_MB: '4096' } });
  });
  after(async () => {
    await service.kill();
    await upstream.close();
  });

  const open = async (localAddress: string): Promise<Socket> => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port), localAddress });
    socket.on('error', () => {}).resume();
    await once(socket, 'connect');
    return socket;
  };

  /** Chats that one client completes in the measured time. */
  const countChats = async (): Promise<number> => {
    const body = JSON.stringify({ model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] });
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const end = performance.now() + MEASURED_MS;
    let count = 0;
    for (; performance.now() < end; count += 1) {
      const answer = await fetch(`${service.url}/v1/chat/completions`, { method: 'POST', headers, body });
      assert.equal(answer.status, 200, await answer.text());
    }
    return count;
  };

  /** Requires that a client keeps a part of its chats beside a flood of requests of another one. */
  const measure = async (t: TestContext, name: string, request: Pick<FloodOptions, 'head' | 'body' | 'bodyBytes'>) => {
    let isLeft = false;
    // On a busy machine, one round can meet other work.
    for (let round = 0; round < ROUNDS && !isLeft; round += 1) {
      const alone = await countChats();
      const from = { url: service.url, localAddress: '127.0.0.2', connections: FLOODS };
      const flood = await startFlood({ ...from, ...request });
      const beside = await countChats();
      t.diagnostic(`${name}: ${alone} chats alone, ${beside} beside ${await flood.stop()} responses`);
      isLeft = beside > alone * LEAST_PART;
    }
    assert.ok(isLeft, name);
  };

  for (const bytes of [scaled(64, 16) * MB, 16_000]) {
    it(`floods of bodies of ${bytes} bytes leave another client a part of its chats`, {
      timeout: 240_000,
    }, async (t) => {
      await countChats();
      for (const path of PATHS) await measure(t, path, { head: head(path, bytes), body: FORM, bodyBytes: bytes });
    });
  }

  it('floods of requests for the API description leave another client a part of its chats', async (t) => {
    for (const path of ['/openapi.json', '/docs/json', '/docs/yaml']) {
      // The description is created by the first request.
      await (await fetch(service.url + path)).arrayBuffer();
      await measure(t, path, { head: `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`, body: '', bodyBytes: 0 });
    }
  });

  /** Statuses of ten attempts to sign in, each to another account. */
  const signIn = async (): Promise<number[]> => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const body = JSON.stringify({ email: `user${attempt}@example.com`, password: 'x' });
      const headers = { 'content-type': 'application/json' };
      statuses.push((await fetch(`${service.url}/v1/session`, { method: 'POST', headers, body })).status);
    }
    return statuses;
  };

  it('large unfinished bodies lock no other client out', { timeout: 120_000 }, async (t) => {
    const sockets: Socket[] = [];
    // Fills the memory for bodies to the last bytes.
    for (let bytes = 15 * MB; bytes > 4; ) {
      const socket = await open('127.0.0.2');
      let isRejected = false;
      socket.on('data', () => {
        isRejected = true;
      });
      socket.write(head('/v1/session', 16 * MB));
      socket.write(Buffer.alloc(bytes, ' '));
      await pause(500);
      if (isRejected) bytes /= 2;
      else sockets.push(socket);
    }
    const statuses = await signIn();
    for (const socket of sockets) socket.destroy();
    t.diagnostic(`sign-ins beside ${sockets.length} unfinished bodies: ${statuses.join(' ')}`);
    assert.deepEqual(new Set(statuses), new Set([401]));
  });

  it('many small unfinished bodies lock no other client out', { timeout: 120_000 }, async (t) => {
    const sockets = await Promise.all(Array.from({ length: SMALL_UNFINISHED }, () => open('127.0.0.2')));
    for (const socket of sockets) {
      socket.write(head('/v1/session', 16_384));
      socket.write(Buffer.alloc(16_000, ' '));
    }
    await pause(1_000);
    const statuses = await signIn();
    for (const socket of sockets) socket.destroy();
    t.diagnostic(`sign-ins beside ${sockets.length} unfinished bodies: ${statuses.join(' ')}`);
    assert.deepEqual(new Set(statuses), new Set([401]));
  });
});
