import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { usageRecords } from '../src/billing/tables.ts';
import type { GenerationEngine } from '../src/engines/engine.ts';
import { createLocalEngine, type LocalEngine } from '../src/engines/llama/engine/local-engine.ts';
import { createUpstreamEngine } from '../src/engines/upstream/upstream-engine.ts';
import { createLogger } from '../src/lib/logger.ts';
import { until } from './deadline.ts';
import { writeTinyGguf } from './fixtures/tiny-gguf.ts';
import { sendEvents, startServer, type TestServer } from './fixtures/upstream-server.ts';
import { bindCatalogue, type TestApi, useApi } from './harness.ts';
import { metric } from './metric.ts';
import { scriptedEngine, untilAborted, words } from './scripted-engine.ts';

const CHAT = '/v1/chat/completions';
const chat = { model: 'general-8b', messages: [{ role: 'user', content: 'Hello' }] };
const never = new AbortController().signal;

/** A client that can disconnect at any moment. */
interface Client {
  /** Text read so far. */
  text(): string;
  leave(): void;
  /** Whether the response was complete. */
  whole: Promise<boolean>;
}

/** Sends a request without waiting for its response. */
function ask(api: TestApi, body: object, path = CHAT): Client {
  const controller = new AbortController();
  let text = '';
  const read = async () => {
    const answer = await fetch(api.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    const decoder = new TextDecoder();
    for await (const piece of answer.body ?? []) text += decoder.decode(piece, { stream: true });
  };
  const whole = read().then(
    () => true,
    () => false,
  );
  return { text: () => text, leave: () => controller.abort(), whole };
}

const pieces = (text: string) => text.split('"content":"').length - 1;

/** Waits until nothing is in flight. Returns the usage rows in call order. */
async function usageRows(api: TestApi, count: number) {
  await until(async () => (await metric(api.url, 'quire_generations_in_flight')) === 0);
  const select = () => api.db.sql.select().from(usageRecords).orderBy(usageRecords.id);
  await until(async () => (await select()).length >= count);
  const rows = await select();
  assert.equal(rows.length, count);
  await api.db.sql.delete(usageRecords);
  return rows;
}

/** Asserts that the next caller is served normally. */
async function assertServes(api: TestApi, body: object = { ...chat, max_tokens: 2 }): Promise<void> {
  const { status, text } = await api.send('POST', CHAT, { body });
  assert.equal(status, 200, text);
  const [row] = await usageRows(api, 1);
  assert.equal(row?.outcome, 'completed');
}

describe('a client that leaves frees what it held within one step', () => {
  const api = useApi();
  const lastCall = () => api.engine.calls.at(-1)!;
  const begun = words('one two three ').slice(0, 4);

  /** Plays the start of a completion, then stalls until it is aborted. Resolves when it stalls. */
  function playAndWait(events: typeof begun): Promise<void> {
    const reached = Promise.withResolvers<void>();
    api.engine.play(async function* (_request, signal) {
      yield* events;
      reached.resolve();
      await untilAborted(signal);
    });
    return reached.promise;
  }

  /** Sends a chat request over its own socket with `length` as `Content-Length`. */
  async function send(body: string, length = Buffer.byteLength(body)): Promise<Socket> {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const head = [`POST ${CHAT} HTTP/1.1`, 'host: quire', `authorization: Bearer ${api.key}`];
    const more = [`content-length: ${length}`, 'content-type: application/json'];
    socket.write(`${[...head, ...more].join('\r\n')}\r\n\r\n${body}`);
    return socket;
  }

  for (const stream of [false, true]) {
    const way = stream ? 'streamed' : 'in one piece';

    it(`while it is queued or its prompt is computed, ${way}: nothing was produced`, async () => {
      const reached = playAndWait([]);
      const client = ask(api, { ...chat, stream });
      await reached;
      client.leave();
      const [row] = await usageRows(api, 1);
      assert.deepEqual([row?.outcome, row?.promptTokens, row?.completionTokens], ['cancelled', 0, 0]);
      assert.equal(lastCall().ended, true);
      assert.equal(lastCall().signal.reason.name, 'ClientDisconnected');
      assert.equal(await client.whole, false);
    });

    it(`in the middle of its answer, ${way}: what was produced is on record`, async () => {
      const reached = playAndWait(begun);
      const client = ask(api, { ...chat, stream });
      await reached;
      if (stream) await until(() => pieces(client.text()) >= 3);
      client.leave();
      const [row] = await usageRows(api, 1);
      assert.deepEqual([row?.outcome, row?.promptTokens, row?.completionTokens], ['cancelled', 7, 3]);
      assert.equal(lastCall().ended, true);
    });

    it(`in the middle of several texts, ${way}: every one of them ends, and no other begins`, async () => {
      const before = api.engine.calls.length;
      void playAndWait(begun);
      const prompt = Array.from({ length: 12 }, (_, index) => `text ${index}`);
      const client = ask(api, { model: 'general-8b', prompt, stream }, '/v1/completions');
      const started = () => api.engine.calls.slice(before);
      const forEachConcurrent = 8;
      await until(() => started().length === forEachConcurrent);
      client.leave();
      const rows = await usageRows(api, forEachConcurrent);
      assert.equal(started().length, forEachConcurrent);
      assert.ok(started().every(({ ended }) => ended));
      assert.ok(rows.every(({ outcome }) => outcome === 'cancelled'));
    });
  }

  it('while it does not read: the engine is held back, and let go', async () => {
    // Many times the socket buffers of both sides. Bounded, so that a failure cannot exhaust the memory.
    const mostPieces = 5_000;
    const text = 'x'.repeat(10_000);
    let made = 0;
    api.engine.play(async function* (_request, signal) {
      yield { type: 'prompt-end', promptTokens: 7, cachedTokens: 0 };
      for (; made < mostPieces; made += 1) {
        yield { type: 'text-delta', choice: 0, text, tokens: 1 };
        await new Promise(setImmediate);
      }
      await untilAborted(signal);
    });
    const socket = await send(JSON.stringify({ ...chat, stream: true }));
    socket.pause();
    let seen = 0;
    await until(() => {
      const isStill = made > 0 && made === seen;
      seen = made;
      return isStill;
    });
    const madeUnread = made;
    socket.destroy();
    const [row] = await usageRows(api, 1);
    assert.ok(madeUnread < mostPieces, 'an answer that nobody reads is kept in memory');
    assert.equal(row?.outcome, 'cancelled');
    assert.equal(lastCall().ended, true);
  });

  it('before its body has come: no engine is asked', async () => {
    const before = api.engine.calls.length;
    const socket = await send('{"model"', 999);
    socket.destroy();
    api.engine.play(async function* () {
      yield* words('Hello there.');
    });
    await assertServes(api);
    assert.equal(api.engine.calls.length, before + 1);
  });

  it('with the whole answer in its hands has not left: it is completed, and no signal says otherwise', async () => {
    api.engine.play(async function* () {
      yield* words('Hello there.');
    });
    for (const stream of [false, true]) {
      await api.send('POST', CHAT, { body: { ...chat, stream }, headers: { connection: 'close' } });
      const [row] = await usageRows(api, 1);
      assert.equal(row?.outcome, 'completed');
      assert.equal(lastCall().signal.aborted, false);
    }
  });
});

describe('a client that leaves the local engine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-leave-'));
  let engine: LocalEngine;
  const api = useApi({
    models: () => {
      // An endless completion: a cycle of two sentences.
      const script = { '<|assistant|>': '▁red', '▁red': '▁blue', '▁blue': '▁red' };
      const file = writeTinyGguf(join(folder, 'tiny.gguf'), { contextTokens: 16_384, script });
      const logger = createLogger('silent');
      const more = { name: 'tiny', kind: 'local', contextTokens: null, threads: 1, logger } as const;
      engine = createLocalEngine({ file, slots: 1, ...more });
      return bindCatalogue({ ...scriptedEngine(), ...portMethods(engine) });
    },
  });
  before(async () => {
    await engine.check(never);
  });
  after(async () => {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const load = () => engine.load(never);

  for (const stream of [false, true]) {
    const way = stream ? 'streamed' : 'in one piece';

    it(`in the middle of its answer, ${way}: its sequence is free for the next`, async () => {
      const client = ask(api, { ...chat, stream });
      if (stream) await until(() => pieces(client.text()) > 5);
      else await until(async () => (await load()).running === 1);
      client.leave();
      await until(async () => (await load()).running === 0);
      const [row] = await usageRows(api, 1);
      assert.equal(row?.outcome, 'cancelled');
      // The first chunk has the role and no text.
      if (stream) assert.ok((row?.completionTokens ?? 0) >= pieces(client.text()) - 1);
      await assertServes(api);
    });

    it(`while it waits for a sequence, ${way}: nobody waits any more, and the one before goes on`, async () => {
      const first = ask(api, { ...chat, stream: true });
      await until(() => pieces(first.text()) > 1);
      const second = ask(api, { ...chat, stream });
      await until(async () => (await load()).waiting === 1);
      second.leave();
      await until(async () => (await load()).waiting === 0);
      const read = pieces(first.text());
      await until(() => pieces(first.text()) > read);
      first.leave();
      await until(async () => (await load()).running === 0);
      const [one, two] = await usageRows(api, 2);
      assert.deepEqual([one?.outcome, two?.outcome], ['cancelled', 'cancelled']);
      assert.equal(Math.min(one!.completionTokens, two!.completionTokens), 0);
      await assertServes(api);
    });

    it(`while its prompt is computed, ${way}: the rest of it is not`, async () => {
      const content = Array.from({ length: 6_000 }, (_, index) => `word ${index}`).join(' ');
      const client = ask(api, { ...chat, messages: [{ role: 'user', content: content.slice(0, 15_000) }], stream });
      await until(async () => (await load()).running === 1);
      client.leave();
      await until(async () => (await load()).running === 0);
      const [row] = await usageRows(api, 1);
      assert.equal(row?.outcome, 'cancelled');
      await assertServes(api);
    });
  }
});

/** Returns the methods of an engine as bound properties. */
function portMethods(engine: LocalEngine) {
  return {
    backend: () => engine.backend(),
    contextLength: () => engine.contextLength(),
    features: () => engine.features(),
    generate: engine.generate.bind(engine),
    check: engine.check.bind(engine),
    close: () => engine.close(),
  };
}

describe('a client that leaves an upstream', () => {
  let server: TestServer;
  const connections = 2;
  const piece = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
  let begin: object[] = [];
  before(async () => {
    server = await startServer(({ body }, response) => {
      if (body?.['max_tokens'] === 2) return void response.end(JSON.stringify(wholeAnswer));
      // A non-streamed response has sent nothing before its end.
      if (begin.length > 0 && body?.['stream'] === true) sendEvents(response, begin);
    });
  });
  let engine: GenerationEngine;
  after(async () => {
    await engine.close();
    await server.close();
  });
  const api = useApi({
    models: () => {
      const options = { model: 'm', apiKey: null, contextLength: null, proxy: null, logger: createLogger('silent') };
      engine = createUpstreamEngine({ ...options, baseUrls: [server.baseUrl], maxConnections: connections });
      return bindCatalogue(Object.assign(scriptedEngine(), { generate: engine.generate.bind(engine) }));
    },
  });
  const wholeAnswer = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Well.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  };

  for (const [stage, events] of [
    ['before it has answered', []],
    ['in the middle of its answer', [piece('one'), piece(' two'), piece(' three')]],
  ] as const) {
    for (const stream of [false, true]) {
      it(`${stage}, ${stream ? 'streamed' : 'in one piece'}: the upstream sees its connection closed`, async () => {
        begin = [...events];
        const client = ask(api, { ...chat, stream });
        await until(() => server.running() === 1);
        if (stream && events.length > 0) await until(() => client.text().includes(' three'));
        client.leave();
        await until(() => server.running() === 0);
        const [row] = await usageRows(api, 1);
        assert.equal(row?.outcome, 'cancelled');
        assert.equal(row?.completionTokens, stream ? events.length : 0);
        await assertServes(api);
      });
    }
  }

  it('while it waits for a connection: the upstream never hears of it', async () => {
    begin = [piece('one')];
    const held = Array.from({ length: connections }, () => ask(api, { ...chat, stream: true }));
    await until(() => server.running() === connections);
    const posts = () => server.requests.filter(({ method }) => method === 'POST').length;
    const before = posts();
    const waiting = ask(api, { ...chat, stream: true });
    await until(async () => (await metric(api.url, 'quire_generations_in_flight')) === connections + 1);
    waiting.leave();
    await until(async () => (await metric(api.url, 'quire_generations_in_flight')) === connections);
    for (const client of held) client.leave();
    const rows = await usageRows(api, connections + 1);
    assert.ok(rows.every(({ outcome }) => outcome === 'cancelled'));
    await assertServes(api);
    assert.equal(posts(), before + 1);
  });
});
