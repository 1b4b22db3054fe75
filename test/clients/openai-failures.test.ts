import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI, { type APIError } from 'openai';
import { until } from '../deadline.ts';
import { sendJson } from '../fixtures/upstream-server.ts';
import { metric } from '../metric.ts';
import { answers, CHAT_BACKENDS, MODELS, startAndStall, useBackends } from './backends.ts';

const backends = useBackends();
const messages = [{ role: 'user' as const, content: 'Tell me of a fox.' }];

/** Returns the error of a failing call, which must be of the class. */
async function failure<T extends APIError>(
  call: PromiseLike<unknown>,
  // biome-ignore lint/suspicious/noExplicitAny: the classes of the client take different things to construct.
  type: new (...args: any[]) => T,
): Promise<T> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof type, `${error}`);
    return error;
  }
  throw new Error('the call did not fail');
}

describe('openai: errors', () => {
  it('401 is an AuthenticationError', async () => {
    for (const apiKey of ['quire-sk-nobody-has-this-key', 'sk-of-another-service']) {
      const call = backends.openai({ apiKey }).chat.completions.create({ model: MODELS.upstream, messages });
      const error = await failure(call, OpenAI.AuthenticationError);
      assert.equal(error.code, 'invalid_api_key');
      assert.equal(error.type, 'authentication_error');
      assert.match(error.requestID ?? '', /^req_/);
    }
  });

  it('404 is a NotFoundError with code and param', async () => {
    const unknown = backends.openai().chat.completions.create({ model: 'gpt-17', messages });
    const error = await failure(unknown, OpenAI.NotFoundError);
    assert.deepEqual([error.code, error.param, error.type], ['model_not_found', 'model', 'not_found_error']);
    const model = await failure(backends.openai().models.retrieve('gpt-17'), OpenAI.NotFoundError);
    assert.deepEqual([model.code, model.param], ['model_not_found', 'model_id']);
    const path = await failure(backends.openai().get('/nowhere'), OpenAI.NotFoundError);
    assert.deepEqual([path.code, path.param], ['unknown_url', null]);
  });

  it('402 is an APIError with code and param, streamed or not', async () => {
    const admin = (path: string, method: 'POST' | 'PUT' | 'GET', body?: object) =>
      fetch(`${backends.baseURL}/admin${path}`, {
        method,
        headers: { authorization: `Bearer ${backends.service.key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }).then((response) => response.json() as Promise<Record<string, string>>);
    const { id } = await admin('/organizations', 'POST', { name: 'without-credits' });
    const { key = '' } = await admin('/keys', 'POST', { name: 'k', organization_id: id, scopes: ['inference'] });
    await admin(`/credits/${id}`, 'PUT', { balance_micros: 1 });
    for (const stream of [false, true]) {
      const body = { model: MODELS.upstream, messages, stream };
      const error = await failure(backends.openai({ apiKey: key }).chat.completions.create(body), OpenAI.APIError);
      assert.deepEqual([error.status, error.code, error.param], [402, 'insufficient_credits', null]);
      assert.equal(error.type, 'billing_error');
    }
  });

  it('400 is a BadRequestError that names the field, streamed or not', async () => {
    const asked = { model: MODELS.bundled, messages };
    for (const stream of [false, true]) {
      const call = backends.openai().chat.completions.create({ ...asked, temperature: 3, stream });
      const error = await failure(call, OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param], ['invalid_value', 'temperature']);
      assert.equal(error.type, 'invalid_request_error');
    }
    const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AA==' } };
    const withImage = { ...asked, messages: [{ role: 'user' as const, content: [image] }] };
    const refused = await failure(backends.openai().chat.completions.create(withImage), OpenAI.BadRequestError);
    assert.equal(refused.param, 'messages.0.content.0');
  });

  for (const [backend, model] of CHAT_BACKENDS) {
    it(`a prompt beyond the context is a BadRequestError on ${backend}`, async () => {
      const long = [{ role: 'user' as const, content: 'fox and heron '.repeat(20_000) }];
      const call = backends.openai().chat.completions.create({ model, messages: long });
      const error = await failure(call, OpenAI.BadRequestError);
      assert.deepEqual([error.code, error.param], ['context_length_exceeded', 'messages']);
    });
  }

  it('403 is a PermissionDeniedError', async () => {
    const made = await backends.service.quire('keys', 'create', '--scopes', 'files', '--json');
    assert.equal(made.code, 0, made.stderr);
    const client = backends.openai({ apiKey: JSON.parse(made.stdout).key });
    const call = client.chat.completions.create({ model: MODELS.upstream, messages });
    const error = await failure(call, OpenAI.PermissionDeniedError);
    assert.deepEqual([error.code, error.type], ['insufficient_scope', 'permission_error']);
    await client.models.list();
  });

  it('a broken upstream connection makes the stream throw', async () => {
    backends.play((request, response, count) => {
      void startAndStall(request, response, count);
      setImmediate(() => response.destroy());
    });
    const stream = await backends.openai().chat.completions.create({ model: MODELS.scripted, messages, stream: true });
    let text = '';
    const read = async () => {
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    };
    const error = await failure(read(), OpenAI.APIError);
    assert.equal(error.code, 'engine_unavailable');
    assert.equal(text, 'Once');
  });
});

describe('openai: retries', () => {
  const busy = (times: number) =>
    backends.play((request, response, count) => {
      if (count >= times) return answers(request, response, count);
      sendJson(response, 503, { error: { message: 'Loading.' } }, { 'retry-after': '0' });
    });
  const posts = () => backends.scripted.requests.filter(({ method }) => method === 'POST').length;

  it('the server retries an upstream that is not ready', async () => {
    busy(1);
    const before = posts();
    const answer = await backends.openai().chat.completions.create({ model: MODELS.scripted, messages });
    assert.equal(answer.choices[0]?.message.content, 'Well.');
    assert.equal(posts() - before, 2);
  });

  it('an unavailable upstream is an InternalServerError with Retry-After, which client retries overcome', async () => {
    busy(100);
    const call = backends.openai().chat.completions.create({ model: MODELS.scripted, messages });
    const error = await failure(call, OpenAI.InternalServerError);
    assert.deepEqual([error.status, error.code], [503, 'engine_unavailable']);
    const wait = error.headers.get('retry-after') ?? '';
    assert.match(wait, /^[1-9][0-9]*$/);
    const serverTries = 3;
    busy(serverTries);
    const client = backends.openai({ maxRetries: 1 });
    const answer = await client.chat.completions.create({ model: MODELS.scripted, messages });
    assert.equal(answer.choices[0]?.message.content, 'Well.');
  });
});

describe('openai: a client that aborts', () => {
  const inFlight = () => metric(backends.service.url, 'quire_generations_in_flight');

  it('aborts the upstream request during a stream', async () => {
    backends.play(startAndStall);
    const controller = new AbortController();
    const asked = { model: MODELS.scripted, messages, stream: true as const };
    const stream = await backends.openai().chat.completions.create(asked, { signal: controller.signal });
    for await (const _chunk of stream) controller.abort();
    await until(() => backends.scripted.running() === 0);
    await until(async () => (await inFlight()) === 0);
  });

  it('aborts the upstream request while it waits for a non-streamed response', async () => {
    backends.play(() => {});
    const controller = new AbortController();
    const asked = { model: MODELS.scripted, messages };
    const call = backends.openai().chat.completions.create(asked, { signal: controller.signal });
    await until(() => backends.scripted.running() === 1);
    controller.abort();
    await failure(call, OpenAI.APIUserAbortError);
    await until(() => backends.scripted.running() === 0);
    await until(async () => (await inFlight()) === 0);
  });

  it('frees the bundled model for the next request', async () => {
    const asked = { model: MODELS.bundled, messages };
    const stream = await backends.openai().chat.completions.create({ ...asked, stream: true });
    for await (const _chunk of stream) break;
    await until(async () => (await inFlight()) === 0);
    const next = await backends.openai().chat.completions.create({ ...asked, max_tokens: 4 });
    assert.match(next.choices[0]?.finish_reason ?? '', /^(stop|length)$/);
  });
});
