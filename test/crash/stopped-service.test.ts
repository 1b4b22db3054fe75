import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { sendEvents, sendJson, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { type Service, startService, until, useEmbeddedDatabases } from '../spawned-service.ts';
import { chat, chatBody, readUsageRows } from './load.ts';
import { NO_TIME_LIMIT } from './rounds.ts';

useEmbeddedDatabases();

const MODEL = 'general-8b';
const delta = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

describe('SIGTERM', () => {
  let upstream: TestServer;
  let go = Promise.withResolvers<void>();
  before(async () => {
    // An upstream whose responses start immediately and end on demand.
    upstream = await startServer(async ({ body }, response) => {
      if (body?.['stream'] === true) sendEvents(response, [delta('Once')]);
      await go.promise;
      const choice = { index: 0, finish_reason: 'stop' };
      if (body?.['stream'] === true) {
        sendEvents(response, [{ choices: [{ ...choice, delta: { content: ' more' } }] }, { choices: [], usage }]);
        sendEvents(response, ['[DONE]']);
        response.end();
      } else {
        const message = { role: 'assistant', content: 'Once more' };
        sendJson(response, 200, { choices: [{ ...choice, message }], usage });
      }
    });
  });
  after(() => upstream.close());

  /** Starts a service with one streamed and one non-streamed response in flight. */
  async function startBusy() {
    go = Promise.withResolvers<void>();
    const service = await startService({ env: { QUIRE_UPSTREAM_URL: upstream.baseUrl } });
    let seen = '';
    const streamed = chat(service, chatBody(MODEL, true), (text) => {
      seen = text;
    });
    const whole = chat(service, chatBody(MODEL, false));
    await until(() => seen.includes('Once') && upstream.running() === 2);
    return { service, streamed, whole };
  }

  /** Waits until the service accepts no new connections. */
  const refuses = (service: Service) =>
    until(async () => {
      try {
        const { status } = await fetch(`${service.url}/healthz`, { headers: { connection: 'close' } });
        assert.ok(status === 200 || status === 503);
        return false;
      } catch {
        return true;
      }
    });

  it('accepts no new requests, completes running responses, and exits with 0', NO_TIME_LIMIT, async () => {
    const { service, streamed, whole } = await startBusy();
    service.signal('SIGTERM');
    await refuses(service);
    go.resolve();
    const [one, two] = await Promise.all([streamed, whole]);
    assert.ok(one.whole, one.text);
    assert.match(one.text, / more/);
    assert.equal(two.status, 200);
    assert.equal(JSON.parse(two.text).choices[0].message.content, 'Once more');
    assert.deepEqual(await service.ended, { code: 0, signal: null });
    const rows = await readUsageRows(service.dataDir);
    assert.deepEqual(
      rows.map(({ requestId, outcome }) => [requestId, outcome]).toSorted(),
      [one, two].map(({ requestId }) => [requestId, 'completed']).toSorted(),
    );
  });

  it('closes idle connections while other requests run', NO_TIME_LIMIT, async () => {
    const { service, streamed, whole } = await startBusy();
    const held = go;
    go = Promise.withResolvers<void>();
    const kept = new Agent({ keepAlive: true });
    const { hostname, port } = new URL(service.url);
    const asked = request({ agent: kept, hostname, port, method: 'POST', path: '/v1/chat/completions' });
    asked.setHeader('authorization', `Bearer ${service.key}`).setHeader('content-type', 'application/json');
    asked.end(JSON.stringify(chatBody(MODEL, false)));
    const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
    await until(() => upstream.running() === 3);
    const silent = connect(Number(port), hostname);
    await once(silent, 'connect');
    const closed = [once(silent, 'close'), once(asked.socket as Socket, 'close')];
    silent.resume();
    service.signal('SIGTERM');
    await refuses(service);
    go.resolve();
    const [answer] = await answered;
    assert.equal(answer.statusCode, 200);
    answer.resume();
    // A drain timeout would close these connections too, and break the other two tests.
    await Promise.all(closed);
    held.resolve();
    const [one, two] = await Promise.all([streamed, whole]);
    assert.ok(one.whole && two.status === 200, 'they were kept until all were broken');
    assert.deepEqual(await service.ended, { code: 0, signal: null });
  });

  it('exits immediately on the second signal', NO_TIME_LIMIT, async () => {
    const { service, streamed } = await startBusy();
    service.signal('SIGTERM');
    await refuses(service);
    service.signal('SIGTERM');
    assert.deepEqual(await service.ended, { code: 143, signal: null });
    assert.equal((await streamed).whole, false);
    go.resolve();
    const again = await startService({ dataDir: service.dataDir, env: { QUIRE_UPSTREAM_URL: upstream.baseUrl } });
    assert.deepEqual(await again.stop(), { code: 0, signal: null });
  });
});
