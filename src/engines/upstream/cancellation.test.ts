import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import {
  chunk,
  engineFor,
  finish,
  respondWithBody,
  respondWithStream,
  responseReceived,
  scripted,
} from '../../../test/fixtures/scripted-upstream.ts';
import { type Handler, sendEvents } from '../../../test/fixtures/upstream-server.ts';
import type { GenerationEvent } from '../engine.ts';

const reason = new Error('the caller left');
const isReason = (error: unknown) => error === reason;
const never = new AbortController().signal;

/** Handles requests with `then`, and resolves `came` with the first one. */
function noticed(then: Handler) {
  const { promise: came, resolve } = Promise.withResolvers<void>();
  const handle: Handler = (request, response, count) => {
    resolve();
    return then(request, response, count);
  };
  return { came, handle };
}

const silent: Handler = () => {};
const headOnly: Handler = (_request, response) => response.flushHeaders();
const endless: Handler = async (_request, response) => {
  while (!response.destroyed) {
    sendEvents(response, [chunk({ content: 'word ' })]);
    await new Promise(setImmediate);
  }
};
const longError: Handler = (_request, response) => {
  response.writeHead(500).write('it goes ');
};

async function readToText(events: AsyncGenerator<GenerationEvent>): Promise<void> {
  for (let next = await events.next(); !next.done; next = await events.next())
    if (next.value.type === 'text-delta') return;
}

const STAGES: [name: string, handler: Handler, read: boolean][] = [
  ['while the head is awaited', silent, false],
  ['while the first byte is awaited', headOnly, false],
  ['while an error is read', longError, false],
  ['amid the answer', endless, true],
];

describe('a caller who disconnects', () => {
  for (const [name, handler, read] of STAGES) {
    for (const incremental of read ? [true] : [true, false]) {
      it(`by the signal ${name}: the upstream sees the close${incremental ? '' : ', unstreamed'}`, async (t) => {
        const { came, handle } = noticed(handler);
        const { engine, server, posts } = await scripted(t, handle);
        const controller = new AbortController();
        const events = engine.generate(chatRequest('Hello', { incremental }), controller.signal);
        if (read) await readToText(events);
        const next = read ? null : assert.rejects(events.next(), isReason);
        await came;
        controller.abort(reason);
        await server.left(1);
        await (next ?? assert.rejects(events.next(), isReason));
        assert.deepEqual([posts().length, server.running()], [1, 0]);
      });
    }

    it(`by return() ${name}: the upstream sees the close`, async (t) => {
      const { came, handle } = noticed(handler);
      const { engine, server } = await scripted(t, handle);
      const events = engine.generate(chatRequest('Hello'), never);
      if (read) await readToText(events);
      const next = read ? null : events.next();
      await came;
      assert.equal((await events.return()).done, true);
      assert.equal((await next)?.done ?? true, true);
      await server.left(1);
    });
  }

  it('while waiting for a connection: ends immediately, and the request is never sent', async (t) => {
    const { came, handle } = noticed(silent);
    const { engine, posts } = await scripted(t, handle, { maxConnections: 1, models: { data: [] } });
    await engine.check(never);
    const first = engine.generate(chatRequest('first'), never);
    const firstNext = first.next();
    await came;
    const controller = new AbortController();
    const second = engine.generate(chatRequest('second'), controller.signal).next();
    controller.abort(reason);
    await assert.rejects(second, isReason);
    await first.return();
    await firstNext;
    assert.equal(posts().length, 1);
  });

  it('while connecting: ends immediately', async (t) => {
    // A documentation address (RFC 5737), which no host answers.
    const engine = engineFor(t, { baseUrls: ['http://192.0.2.1:9/v1'] });
    const controller = new AbortController();
    const next = engine.generate(chatRequest('Hello'), controller.signal).next();
    setImmediate(() => controller.abort(reason));
    await assert.rejects(next, isReason);
  });

  it('between two attempts: ends immediately, and nothing more is sent', async (t) => {
    const { came, handle } = noticed(respondWithBody(503, '', { 'retry-after': '4' }));
    const { engine, posts } = await scripted(t, handle);
    const controller = new AbortController();
    const next = assert.rejects(engine.generate(chatRequest('Hello'), controller.signal).next(), isReason);
    await came;
    setTimeout(() => controller.abort(reason), 5);
    await next;
    assert.equal(posts().length, 1);
  });

  it('with the response already there: throws the reason nevertheless', async (t) => {
    const { engine } = await scripted(
      t,
      respondWithStream(chunk({ content: 'a' }), chunk({ content: 'b' }), finish('stop'), '[DONE]'),
    );
    const controller = new AbortController();
    const events = engine.generate(chatRequest('Hello'), controller.signal);
    await readToText(events);
    controller.abort(reason);
    await assert.rejects(events.next(), isReason);
  });
});

describe('connections', () => {
  it('are reused when the response ends after [DONE]', async (t) => {
    let end = () => {};
    const { engine, server } = await scripted(t, (_request, response) => {
      sendEvents(response, [chunk({ content: 'a' }), finish('stop'), '[DONE]']);
      end = () => response.end();
    });
    await engine.check(never);
    for (let i = 0; i < 4; i += 1) {
      await collectGeneration(engine, chatRequest('Hello'));
      const ended = responseReceived('end');
      end();
      await ended;
    }
    assert.ok(server.connections() <= 2, `${server.connections()} connections`);
  });

  it('are reused after a stream, a whole response and an error', async (t) => {
    const stream = respondWithStream(chunk({ content: 'a' }), finish('stop'), '[DONE]');
    const whole = respondWithBody(200, { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] });
    const handlers = [stream, whole, respondWithBody(400, { error: 'no' }), stream];
    const { engine, server } = await scripted(t, (request, response, count) =>
      handlers[count]?.(request, response, count),
    );
    await engine.check(never);
    for (const _ of handlers) {
      const ended = responseReceived('end');
      await collectGeneration(engine, chatRequest('Hello')).catch(() => {});
      await ended;
    }
    // One request may be the initial probe, still in flight when the first request is sent.
    assert.ok(server.connections() <= 2, `${server.connections()} connections`);
  });

  it('of a server that does not end after [DONE] are closed without delaying the response', async (t) => {
    const { engine, server } = await scripted(t, (_request, response) => {
      sendEvents(response, [chunk({ content: 'a' }), finish('stop'), '[DONE]']);
    });
    assert.equal((await collectGeneration(engine, chatRequest('Hello'))).choices[0]!.text, 'a');
    await server.left(1);
  });
});

describe('an engine', () => {
  it('is ready from its first response to its close, which ends calls with 503 and sends nothing again', async (t) => {
    const { came, handle } = noticed(silent);
    const { engine, posts } = await scripted(t, handle);
    assert.equal(engine.backend().ready, false);
    await engine.check(never);
    assert.equal(engine.backend().ready, true);
    const call = assert.rejects(collectGeneration(engine, chatRequest('Hello')), {
      status: 503,
      message: /shutting down/,
    });
    await came;
    await engine.close();
    await call;
    assert.equal(posts().length, 1);
    assert.equal(engine.backend().ready, false);
    await assert.rejects(collectGeneration(engine, chatRequest('Hello')), /shutting down/);
  });
});
