import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/deadline.ts';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import { checkFairQueue, FAIR_QUEUE_REQUESTS } from '../../../test/fair-queue.ts';
import {
  chunk,
  engineFor,
  finish,
  respondWithBody,
  respondWithStream,
  scripted,
} from '../../../test/fixtures/scripted-upstream.ts';
import { type Handler, startServer } from '../../../test/fixtures/upstream-server.ts';
import { ApiError } from '../../errors.ts';
import { leastLoaded } from './replicas.ts';

const never = new AbortController().signal;
const good = respondWithStream(chunk({ content: 'a' }), finish('stop'), '[DONE]');
const sendJsonRequest = async (engine: Parameters<typeof collectGeneration>[0], text = 'Hello', scope = 'org_1') =>
  (await collectGeneration(engine, chatRequest(text, { scope }))).choices[0]!.text;

/** Responds with each handler in turn, then with the last one. */
const inTurn =
  (...handlers: Handler[]): Handler =>
  (request, response, count) =>
    handlers[Math.min(count, handlers.length - 1)]?.(request, response, count);

const unavailable = (retryAfterSeconds?: number) => (error: unknown) => {
  assert.ok(error instanceof ApiError && error.status === 503);
  if (retryAfterSeconds !== undefined) assert.equal(error.retryAfterSeconds, retryAfterSeconds);
  return true;
};

describe('the queue of an upstream', () => {
  it('evicts requests of an organization that fills it for another one', async (t) => {
    const { engine } = await scripted(t, () => {}, { maxRequests: FAIR_QUEUE_REQUESTS });
    await checkFairQueue((scope, signal) => collectGeneration(engine, chatRequest('Hello', { scope }), signal));
  });
});

describe('retries', () => {
  for (const status of [429, 502, 503, 504]) {
    it(`${status} is retried at most twice`, async (t) => {
      const failed = respondWithBody(status, { error: 'not now' });
      const mended = await scripted(t, inTurn(failed, failed, good));
      assert.equal(await sendJsonRequest(mended.engine), 'a');
      assert.equal(mended.posts().length, 3);
      const lasting = await scripted(t, failed);
      await assert.rejects(sendJsonRequest(lasting.engine), unavailable());
      assert.equal(lasting.posts().length, 3);
    });
  }

  for (const status of [400, 401, 403, 404, 500]) {
    it(`${status} is not retried`, async (t) => {
      const { engine, posts } = await scripted(t, respondWithBody(status, { error: 'no' }));
      await assert.rejects(sendJsonRequest(engine), ApiError);
      assert.equal(posts().length, 1);
    });
  }

  it('a connection lost before the first byte is retried', async (t) => {
    const beforeHead: Handler = (_request, response) => void response.destroy();
    const afterHead: Handler = (_request, response) => {
      response.flushHeaders();
      setImmediate(() => response.destroy());
    };
    const { engine, posts } = await scripted(t, inTurn(beforeHead, afterHead, good));
    assert.equal(await sendJsonRequest(engine), 'a');
    assert.equal(posts().length, 3);
  });

  it('a short Retry-After is honoured, a long one is passed on', async (t) => {
    const short = await scripted(t, inTurn(respondWithBody(429, {}, { 'retry-after': '0' }), good));
    assert.equal(await sendJsonRequest(short.engine), 'a');
    const long = await scripted(t, respondWithBody(429, {}, { 'retry-after': '77' }));
    await assert.rejects(sendJsonRequest(long.engine), unavailable(77));
    assert.equal(long.posts().length, 1);
  });

  it('a Retry-After may be a date; an invalid one is ignored', async (t) => {
    const dated = await scripted(
      t,
      respondWithBody(503, {}, { 'retry-after': new Date(Date.now() + 600_000).toUTCString() }),
    );
    await assert.rejects(
      sendJsonRequest(dated.engine),
      (error) => error instanceof ApiError && (error.retryAfterSeconds ?? 0) > 590,
    );
    const odd = await scripted(t, respondWithBody(503, {}, { 'retry-after': 'soon' }));
    await assert.rejects(sendJsonRequest(odd.engine), unavailable(5));
  });
});

describe('several base URLs', () => {
  it('one that is down is skipped, and the engine is ready', async (t) => {
    const down = await startServer(good);
    await down.close();
    const up = await startServer(good, { data: [] });
    t.after(up.close);
    const engine = engineFor(t, { baseUrls: [down.baseUrl, up.baseUrl] });
    for (let i = 0; i < 6; i += 1) assert.equal(await sendJsonRequest(engine), 'a');
    await engine.check(never);
    assert.equal(engine.backend().ready, true);
  });

  for (const { status, isEjected } of [
    { status: 502, isEjected: true },
    { status: 429, isEjected: false },
  ]) {
    it(`one that answers ${status} is ${isEjected ? 'ejected' : 'asked again'} while another responds`, async (t) => {
      const bad = await startServer(respondWithBody(status, ''));
      const well = await startServer(good);
      t.after(bad.close);
      t.after(well.close);
      const engine = engineFor(t, { baseUrls: [bad.baseUrl, well.baseUrl] });
      await engine.check(never);
      // Otherwise it would be probed and used again while these requests take a second.
      t.mock.timers.enable({ apis: ['setTimeout'] });
      // Different prompts: a prompt that had to move stays where it went.
      for (let i = 0; i < 32; i += 1) assert.equal(await sendJsonRequest(engine, `Hello ${i}`), 'a');
      const posts = bad.requests.filter(({ method }) => method === 'POST').length;
      assert.equal(posts > 1, !isEjected, `${posts} requests`);
    });
  }

  it('concurrent requests are load-balanced', async (t) => {
    const servers = await Promise.all([1, 2].map(() => startServer(good)));
    for (const server of servers) t.after(server.close);
    const engine = engineFor(t, { baseUrls: servers.map(({ baseUrl }) => baseUrl) });
    await engine.check(never);
    await Promise.all(Array.from({ length: 8 }, () => sendJsonRequest(engine)));
    const counts = servers.map(({ requests }) => requests.filter(({ method }) => method === 'POST').length);
    assert.deepEqual(counts.toSorted(), [3, 5]);
  });

  it('a conversation stays at one server, also at the one that took it over, and organizations are separate', async (t) => {
    const isDown = [false, false];
    const servers = await Promise.all(
      [0, 1].map((at) => startServer((...args) => (isDown[at] ? respondWithBody(503, '') : good)(...args))),
    );
    for (const server of servers) t.after(server.close);
    const engine = engineFor(t, { baseUrls: servers.map(({ baseUrl }) => baseUrl) });
    await engine.check(never);
    const counts = () => servers.map(({ requests }) => requests.filter(({ method }) => method === 'POST').length);
    for (let turn = 0; turn < 5; turn += 1) await sendJsonRequest(engine);
    const home = counts().indexOf(5);
    assert.notEqual(home, -1, counts().join());
    assert.deepEqual(engine.affinity?.(), { first: 1, hit: 4, moved: 0 });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    isDown[home] = true;
    await sendJsonRequest(engine);
    isDown[home] = false;
    await engine.check(never);
    await sendJsonRequest(engine);
    assert.deepEqual([counts()[home], counts()[1 - home]], [6, 2]);
    assert.deepEqual(engine.affinity?.(), { first: 1, hit: 6, moved: 1 });
    const others = Array.from({ length: 16 }, (_, n) => sendJsonRequest(engine, 'Hello', `org_${n + 2}`));
    await Promise.all(others);
    assert.equal(engine.affinity?.().first, 17);
  });

  it('an ejected one is used again as soon as it responds', async (t) => {
    let broken = true;
    const { engine } = await scripted(t, (...args) => (broken ? respondWithBody(503, '') : good)(...args));
    await assert.rejects(sendJsonRequest(engine), unavailable());
    assert.equal(engine.backend().ready, false);
    broken = false;
    // No request is sent: the replica is probed in the background.
    await until(() => engine.backend().ready);
    assert.equal(await sendJsonRequest(engine), 'a');
  });
});

describe('leastLoaded', () => {
  const free = { inFlight: 0, ejectedAt: null };
  const none = () => false;

  it('chooses the fewest requests in flight, ties round robin', () => {
    assert.equal(
      leastLoaded(
        [
          { ...free, inFlight: 3 },
          { ...free, inFlight: 1 },
        ],
        none,
        0,
      ),
      1,
    );
    assert.deepEqual(
      [0, 1, 2].map((start) => leastLoaded([free, free, free], none, start)),
      [0, 1, 2],
    );
  });

  it('chooses an ejected one only when all are, the one that failed longest ago', () => {
    assert.equal(
      leastLoaded(
        [
          { inFlight: 0, ejectedAt: 1 },
          { ...free, inFlight: 9 },
        ],
        none,
        0,
      ),
      1,
    );
    assert.equal(
      leastLoaded(
        [
          { inFlight: 0, ejectedAt: 7 },
          { inFlight: 5, ejectedAt: 2 },
        ],
        none,
        0,
      ),
      1,
    );
  });

  it('chooses a tried one only after the others of its kind', () => {
    assert.equal(
      leastLoaded([free, { ...free, inFlight: 9 }], (index) => index === 0, 0),
      1,
    );
    assert.equal(
      leastLoaded([free], () => true, 0),
      0,
    );
    assert.equal(
      leastLoaded([free, { inFlight: 0, ejectedAt: 1 }], (index) => index === 0, 0),
      0,
    );
  });
});
