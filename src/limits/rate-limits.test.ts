import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { type Answer, assertError, type TestApi, useApi } from '../../test/harness.ts';
import { stream, untilAborted, words } from '../../test/scripted-engine.ts';
import { apiKeys, organizations } from '../accounts/tables.ts';
import { contextLengthExceeded } from '../errors.ts';
import type { RateLimits } from '../lib/caller.ts';

const NONE: RateLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };
const CHAT = { model: 'general-8b', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 };

/** The `x-ratelimit-*` headers of a kind: limit, remaining, reset. */
const limitHeaders = ({ headers }: Pick<Answer, 'headers'>, kind: 'requests' | 'tokens') =>
  ['limit', 'remaining', 'reset'].map((part) => headers.get(`x-ratelimit-${part}-${kind}`));

/** Creates a key with limits in an organization with limits. */
async function limitedKey(api: TestApi, limits: Partial<RateLimits>, organization = 'default'): Promise<string> {
  const { id, key } = await api.makeKey({ organization });
  await api.db.sql
    .update(apiKeys)
    .set({ limits: { ...NONE, ...limits } })
    .where(eq(apiKeys.id, id));
  return key;
}

describe('rate limits of a key', () => {
  let now = 0;
  const api = useApi({ rateLimits: 'requests=60,tokens=6000,concurrent=2', limitClock: () => now });
  const chat = (key: string, body: object = {}) =>
    api.send('POST', '/v1/chat/completions', { key, body: { ...CHAT, ...body } });

  it('every response to a known key has the state of its limits: 200, 400, 403, 404', async () => {
    const { key } = await api.makeKey({ scopes: ['inference'] });
    const answers = [
      await chat(key, { messages: 'none' }),
      await api.send('POST', '/v1/chat/completions', { key, body: '{' }),
      await chat(key, { model: 'unknown' }),
      await chat(key, { stream: true }),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400, 400, 404, 200],
    );
    answers.forEach((answer, index) => {
      assert.deepEqual(limitHeaders(answer, 'requests'), ['60', String(59 - index), `${index + 1}s`]);
    });
    const forbidden = await api.send('GET', '/v1/files', { key });
    assert.equal(forbidden.status, 403);
    assert.deepEqual(limitHeaders(forbidden, 'requests'), ['60', '59', '1s']);
  });

  it('429 rate_limit_exceeded when the requests of a minute are used up; a client that waits succeeds', async () => {
    const key = await limitedKey(api, { requestsPerMinute: 4 });
    for (let count = 0; count < 4; count++) assert.equal((await chat(key)).status, 200);
    const rejected = await chat(key);
    assertError(rejected, 429, 'rate_limit_exceeded');
    assert.equal(rejected.json.error.type, 'rate_limit_error');
    const { message } = rejected.json.error;
    assert.equal(
      message,
      'The limit of 4 requests per minute of this API key for inference is reached. Retry in 15 s.',
    );
    assert.deepEqual([rejected.headers.get('retry-after'), rejected.headers.get('x-should-retry')], ['15', null]);
    assert.deepEqual(limitHeaders(rejected, 'requests'), ['4', '0', '60s']);
    now += 14_999;
    assert.equal((await chat(key)).headers.get('retry-after'), '1');
    now += 1;
    assert.equal((await chat(key)).status, 200);
  });

  it('counts each class of routes on its own', async () => {
    const key = await limitedKey(api, { requestsPerMinute: 1 });
    const upload = () => {
      const form = new FormData();
      form.set('file', new Blob(['text']), 'a.txt');
      form.set('purpose', 'knowledge-base');
      return fetch(`${api.url}/v1/files`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: form });
    };
    const requests: Record<string, () => Promise<{ status: number }>> = {
      inference: () => chat(key),
      uploads: upload,
      'knowledge bases': () => api.send('GET', '/v1/knowledge-bases', { key }),
      management: () => api.send('GET', '/v1/guardrail-policies', { key }),
      'other routes': () => api.send('GET', '/v1/models', { key }),
    };
    for (const [name, send] of Object.entries(requests)) assert.equal((await send()).status, 200, name);
    for (const [name, send] of Object.entries(requests)) assert.equal((await send()).status, 429, name);
  });

  it('does not limit public routes and unknown keys', async () => {
    for (const path of ['/healthz', '/openapi.json']) {
      const answer = await api.send('GET', path, { key: null });
      assert.deepEqual(limitHeaders(answer, 'requests'), ['1000000000', '1000000000', '0s']);
    }
    const unknown = await api.send('GET', '/v1/models', { key: 'quire-sk-unknown' });
    assert.deepEqual([unknown.status, unknown.headers.get('x-ratelimit-limit-requests')], [401, '1000000000']);
  });

  it('counts rejected requests by class in quire_rate_limited_requests_total', async () => {
    const key = await limitedKey(api, { requestsPerMinute: 1 });
    await api.send('GET', '/v1/guardrail-policies', { key });
    const count = async () =>
      /quire_rate_limited_requests_total\{class="management",limit="requests",holder="key"\} (\d+)/.exec(
        await api.deps.metrics.metrics(),
      )?.[1];
    const before = Number((await count()) ?? 0);
    await api.send('GET', '/v1/guardrail-policies', { key });
    assert.equal(Number(await count()), before + 1);
  });

  it('applies the limits of an organization to all its keys together, and names it', async () => {
    const keys = [await limitedKey(api, {}, 'limited'), await limitedKey(api, {}, 'limited')] as const;
    const limits = { requestsPerMinute: 3, tokensPerMinute: 1_000, concurrent: 1 };
    await api.db.sql.update(organizations).set({ limits }).where(eq(organizations.name, 'limited'));
    api.authenticator.evict();
    const first = await chat(keys[0]);
    assert.deepEqual(limitHeaders(first, 'requests'), ['3', '2', '20s']);
    assert.deepEqual(limitHeaders(first, 'tokens').slice(0, 1), ['1000']);
    await chat(keys[1]);
    await chat(keys[0]);
    const rejected = await chat(keys[1]);
    assertError(rejected, 429, 'rate_limit_exceeded');
    assert.match(rejected.json.error.message, /^The limit of 3 requests per minute of this organization for inference/);
  });
});

describe('token limits', () => {
  let now = 0;
  const api = useApi({ rateLimits: 'tokens=6000', limitClock: () => now });
  const chat = (key: string, body: object = {}) =>
    api.send('POST', '/v1/chat/completions', { key, body: { ...CHAT, ...body } });
  const remaining = (answer: Answer) => Number(answer.headers.get('x-ratelimit-remaining-tokens'));
  const estimate = (body: object) => Math.ceil(JSON.stringify({ ...CHAT, ...body }).length / 4);

  it('a stream shows the estimate as taken, a later response the tokens that were used', async () => {
    const { key } = await api.makeKey();
    const body = { stream: true, max_tokens: 500, n: 2 };
    const streamed = await chat(key, body);
    assert.equal(remaining(streamed), 6_000 - estimate(body) - 1_000);
    const other = await api.send('GET', '/v1/models', { key });
    // Seven prompt tokens and two words.
    assert.equal(remaining(other), 6_000 - 9);
  });

  it('a response that is not streamed shows the tokens that were used', async () => {
    const { key } = await api.makeKey();
    assert.equal(remaining(await chat(key)), 6_000 - 9);
    assert.equal(remaining(await api.send('GET', '/v1/models', { key })), 6_000 - 9);
  });

  it('a request that fails or is rejected before a model runs takes no tokens', async () => {
    const { key } = await api.makeKey();
    assert.equal(remaining(await chat(key, { model: 'unknown' })), 6_000);
    api.engine.play(() => {
      throw contextLengthExceeded('messages', 9000, 4096);
    });
    assert.equal(remaining(await chat(key)), 6_000);
    api.engine.play(() => stream(words('Hello there.')));
  });

  it('usage beyond the estimate delays later requests, which may then be sent again at the given time', async () => {
    const key = await limitedKey(api, { tokensPerMinute: 6_000, requestsPerMinute: 2 });
    now += 60_000;
    api.engine.play(() => stream(words('x', 'stop', 3_999)));
    await chat(key);
    await chat(key);
    api.engine.play(() => stream(words('Hello there.')));
    now += 30_000;
    const body = { max_tokens: 2_000 };
    const rejected = await chat(key, body);
    const cost = 2_000 + estimate(body);
    const seconds = Math.ceil((cost - 1_000) / 100);
    assert.match(rejected.json.error.message, /^The limit of 6000 tokens per minute of this API key is reached/);
    assert.equal(rejected.headers.get('retry-after'), String(seconds));
    // The rejected request is not counted: the next one needs no request of its own.
    assert.equal(rejected.headers.get('x-ratelimit-remaining-requests'), '1');
    now += seconds * 1000;
    assert.equal((await chat(key, body)).status, 200);
  });

  it('429 with x-should-retry false for a request that no wait lets pass', async () => {
    const { key } = await api.makeKey();
    const rejected = await chat(key, { max_tokens: 4_000, n: 2 });
    assertError(rejected, 429, 'rate_limit_exceeded');
    assert.match(
      rejected.json.error.message,
      /needs about 80\d\d tokens, .* limit of 6000 tokens per minute of this API key/,
    );
    assert.equal(rejected.headers.get('x-should-retry'), 'false');
    assert.equal(remaining(rejected), 6_000);
  });
});

describe('concurrency limits', () => {
  let now = 0;
  const api = useApi({ rateLimits: 'concurrent=1', limitClock: () => now });
  const send = (signal?: AbortSignal, body: object = {}) =>
    fetch(`${api.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...CHAT, ...body }),
      ...(signal && { signal }),
    });
  /** Sends until a slot is free: it is freed shortly after the client has seen the end of a response. */
  const untilAdmitted = async () => {
    for (;;) {
      const response = await send();
      await response.text();
      if (response.status !== 429) return response.status;
    }
  };
  const stalled = async function* (_request: unknown, signal: AbortSignal) {
    yield* words('Hello there.').slice(0, 2);
    await untilAborted(signal);
  };

  it('a stream holds its slot until the client disconnects', async () => {
    api.engine.play(stalled);
    const controller = new AbortController();
    const streamed = await send(controller.signal, { stream: true });
    assert.equal(streamed.status, 200);
    const rejected = await api.send('POST', '/v1/chat/completions', { body: CHAT });
    assertError(rejected, 429, 'rate_limit_exceeded');
    assert.match(rejected.json.error.message, /^The limit of 1 concurrent requests of this API key for inference/);
    assert.equal(rejected.headers.get('retry-after'), '1');
    assert.equal((await api.send('GET', '/v1/models')).status, 200);
    controller.abort();
    api.engine.play(() => stream(words('Hello there.')));
    assert.equal(await untilAdmitted(), 200);
  });

  it('Retry-After is the time at which the running request has taken as long as earlier ones', async () => {
    const { key } = await api.makeKey();
    const run = async (durationMs: number, check = async () => {}) => {
      const { promise: isDone, resolve: finish } = Promise.withResolvers<void>();
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      api.engine.play(async function* () {
        start();
        await isDone;
        yield* words('Hello there.');
      });
      const answer = api.send('POST', '/v1/chat/completions', { key, body: CHAT });
      await started;
      await check();
      now += durationMs;
      finish();
      assert.equal((await answer).status, 200);
      // The slot is freed shortly after the client has seen the end of the response.
      await setTimeout(20);
    };
    for (let count = 0; count < 3; count += 1) await run(7_000);
    const retryAfter = async () =>
      (await api.send('POST', '/v1/chat/completions', { key, body: CHAT })).headers.get('retry-after');
    await run(4_500, async () => {
      now += 2_500;
      assert.equal(await retryAfter(), '5');
      assert.equal(await retryAfter(), '12', 'the next turn');
    });
  });

  it('frees the slot after a response, a stream and an error', async () => {
    for (const body of [{}, { stream: true }, { model: 'unknown' }, { messages: [] }]) {
      await (await send(undefined, body)).text();
      assert.equal(await untilAdmitted(), 200);
    }
  });
});
