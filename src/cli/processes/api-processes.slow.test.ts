import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import {
  isRunning,
  killProcesses,
  type Service,
  startService,
  until,
  useEmbeddedDatabases,
} from '../../../test/spawned-service.ts';
import { PROCESS_SOCKET } from './process-calls.ts';

/** Guard for a hang, on a machine with other work. */
const TIMEOUT_MS = 600_000;
const MESSAGES = [{ role: 'user', content: 'Hello! What can you do?' }];

useEmbeddedDatabases();

/** A server of OpenAI's API whose streams stop after the first token, until they are released. */
async function startHoldingUpstream() {
  const held = new Set<() => void>();
  const server = createServer(async (incoming, response) => {
    const body = JSON.parse((await text(incoming)) || '{}');
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const answer = { role: 'assistant', content: 'Yes.' };
    if (body.stream !== true) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ index: 0, message: answer, finish_reason: 'stop' }], usage }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    send({ choices: [{ index: 0, delta: answer }] });
    await new Promise<void>((resolve) => held.add(resolve));
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage });
    response.end('data: [DONE]\n\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    held,
    release: () => {
      for (const resume of held) resume();
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('a service with QUIRE_API_PROCESSES=2', { timeout: TIMEOUT_MS }, () => {
  let upstream: Awaited<ReturnType<typeof startHoldingUpstream>>;
  let service: Service;
  before(async () => {
    upstream = await startHoldingUpstream();
    // Without a context length, a call reserves all credits.
    const config = `models:\n  remote:\n    base_urls: [${upstream.url}]\n    context_length: 2048\n`;
    service = await startService({ config, env: { QUIRE_API_PROCESSES: '2', QUIRE_RATE_LIMITS: 'off' } });
  });
  after(async () => {
    await service?.kill();
    upstream.close();
  });

  /** A request on a connection of its own, which the kernel gives to one of the processes. */
  const open = async (method: string, path: string, body?: object, key = service.key): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = request(service.url + path, { method, headers, agent: new Agent({ keepAlive: false }) });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  };
  const call = async (method: string, path: string, body?: object, key = service.key) => {
    const response = await open(method, path, body, key);
    return { status: response.statusCode, headers: response.headers, json: JSON.parse(await text(response)) };
  };
  const chat = (model: string, more: object = {}) => ({ model, messages: MESSAGES, ...more });
  const stream = () => open('POST', '/v1/chat/completions', chat('remote', { stream: true }));
  /** The processes that logged a request of a route. */
  const servedBy = (route: string) =>
    new Set(
      service
        .stderr()
        .split('\n')
        .filter((line) => line.includes(`"route":"${route}"`))
        .map((line) => JSON.parse(line).process),
    );
  const processes = async () => JSON.parse((await service.quire('ps', '--json')).stdout).processes;
  const apiPids = async (): Promise<number[]> => (await processes()).slice(1).map(({ pid }: { pid: number }) => pid);

  it('serves requests in both processes, and shows both in metrics and in quire ps', async () => {
    await until(async () => {
      assert.equal((await call('GET', '/v1/models')).status, 200);
      return servedBy('/v1/models').size === 2;
    });
    const metrics = await text(await open('GET', '/metrics'));
    for (const name of ['main', 'api-1', 'api-2'])
      assert.match(metrics, new RegExp(`^process_start_time_seconds\\{process="${name}"\\} \\d+`, 'm'));
    assert.equal(metrics.match(/^# TYPE process_start_time_seconds /gm)?.length, 1);
    const states = (await processes()).map(({ name, state }: { name: string; state: string }) => [name, state]);
    assert.deepEqual(states, [
      ['main', 'ready'],
      ['api-1', 'ready'],
      ['api-2', 'ready'],
    ]);
    assert.equal(statSync(join(service.dataDir, PROCESS_SOCKET)).mode & 0o777, 0o600);
  });

  it('answers with the models of the main process, whose prefix cache both processes hit', async () => {
    const statuses: unknown[] = [];
    await until(async () => {
      const { status, headers } = await call('POST', '/v1/chat/completions', chat('general-8b', { max_tokens: 4 }));
      assert.equal(status, 200);
      statuses.push(headers['x-cache-status']);
      return servedBy('/v1/chat/completions').size === 2;
    });
    assert.deepEqual(new Set(statuses.slice(1)), new Set(['HIT']));
    const { json } = await call('POST', '/v1/embeddings', { model: 'embed-large-en-v1.5', input: ['a', 'b'] });
    assert.equal(json.data[1].embedding.length, 1_024);
    const long = { model: 'embed-large-en-v1.5', input: ['a', 'word '.repeat(9_000)] };
    assert.equal((await call('POST', '/v1/embeddings', long)).json.error.param, 'input.1');
    const { hit_count: hits, miss_count: misses } = (await call('GET', '/v1/admin/cache/stats')).json;
    assert.deepEqual([hits, misses], [statuses.length - 1, 1]);
  });

  it('loads and unloads a model from every process', async () => {
    for (const [action, state] of [
      ['unload', 'not loaded'],
      ['load', 'ready'],
    ] as const) {
      assert.equal((await call('POST', `/v1/admin/models/general-8b/${action}`)).status, 200);
      const states = async () => {
        const { data } = (await call('GET', '/v1/admin/engines')).json;
        return data.find(({ models }: { models: string[] }) => models.includes('general-8b')).state;
      };
      for (let i = 0; i < 8; i++) await until(async () => (await states()) === state);
    }
  });

  it('a binding that one process changes is served by all', async () => {
    const bind = await call('PUT', '/v1/admin/models/instruct-7b/binding', { model: 'bundled' });
    assert.equal(bind.status, 200);
    for (let i = 0; i < 8; i++)
      assert.equal((await call('POST', '/v1/chat/completions', chat('instruct-7b', { max_tokens: 2 }))).status, 200);
  });

  it('screens and meters the calls of both processes: no credit is spent twice or lost', async () => {
    const policy = { name: 'p', topic_deny_list: [{ topic: 'granite', action: 'block' }] };
    const created = await call('POST', '/v1/guardrail-policies', policy);
    assert.equal(created.status, 200, JSON.stringify(created.json));
    const granite = { model: 'remote', messages: [{ role: 'user', content: 'Granite?' }] };
    await until(async () => {
      const screened = await Promise.all(
        Array.from({ length: 8 }, () => call('POST', '/v1/chat/completions', granite)),
      );
      return screened.every(({ json }) => json.error?.code === 'content_filtered');
    });
    const quire = async (...args: string[]) => JSON.parse((await service.quire(...args, '--json')).stdout);
    await quire('orgs', 'create', 'acme');
    await quire('orgs', 'credit', 'acme', '--set', '1000');
    const { key } = await quire('keys', 'create', '--org', 'acme', '--scopes', 'inference');
    const paid = await Promise.all(
      Array.from({ length: 60 }, () => call('POST', '/v1/chat/completions', chat('remote'), key)),
    );
    assert.deepEqual(new Set(paid.map(({ status }) => status)), new Set([200]));
    const { total } = (await call('GET', '/v1/usage/summary', undefined, key)).json;
    assert.deepEqual([total.requests, total.prompt_tokens, total.completion_tokens], [60, 6_000, 600]);
    assert.ok(total.cost_micros > 0);
    // Unused credits of the processes go back after a moment.
    await until(async () => {
      const { balance_micros: left } = (await call('GET', '/v1/usage/summary', undefined, key)).json;
      return left === 1_000_000_000 - total.cost_micros;
    });
  });

  it('a killed process fails its own streams only, and is started again', async () => {
    const [victim = 0, other = 0] = await apiPids();
    const streams = await Promise.all(Array.from({ length: 12 }, stream));
    const ends = streams.map(async (response) => text(response).catch(() => 'reset'));
    await until(() => upstream.held.size >= 12);
    killProcesses([victim]);
    await until(() => !isRunning(victim));
    upstream.release();
    const outcomes = await Promise.all(ends);
    const whole = outcomes.filter((body) => body.includes('[DONE]')).length;
    assert.ok(whole > 0 && whole < 12, `${whole} of 12 streams were complete`);
    assert.deepEqual(new Set(outcomes.filter((body) => !body.includes('[DONE]'))), new Set(['reset']));
    await until(async () => {
      assert.equal((await call('GET', '/v1/models')).status, 200);
      const [, first, second] = await processes();
      return first.state === 'ready' && first.restarts === 1 && second.pid === other;
    });
  });

  it('SIGHUP applies the configuration in all processes', async () => {
    service.signal('SIGHUP');
    const reloaded = () => service.stderr().match(/"process":"(main|api-\d)".*"configuration reloaded"/g)?.length ?? 0;
    await until(() => reloaded() >= 3);
  });

  it('SIGTERM lets the running streams of all processes end, then ends all processes', async () => {
    const pids = await apiPids();
    upstream.held.clear();
    const streams = await Promise.all(Array.from({ length: 8 }, stream));
    await until(() => upstream.held.size >= 8);
    const ended = service.stop();
    await until(async () => (await open('GET', '/readyz').catch(() => null))?.statusCode !== 200);
    upstream.release();
    const bodies = await Promise.all(streams.map((response) => text(response)));
    assert.ok(bodies.every((body) => body.includes('[DONE]')));
    assert.deepEqual(await ended, { code: 0, signal: null });
    assert.deepEqual(pids.filter(isRunning), []);
  });
});

describe('the processes of a killed service', { timeout: TIMEOUT_MS }, () => {
  it('end with it, and the next start succeeds', async () => {
    const env = { QUIRE_API_PROCESSES: '2' };
    const service = await startService({ env });
    const children = service.children();
    await service.kill();
    await until(() => !children.some(isRunning));
    const next = await startService({ env, dataDir: service.dataDir });
    assert.equal((await fetch(`${next.url}/readyz`)).status, 200);
    assert.deepEqual(await next.stop(), { code: 0, signal: null });
  });
});
