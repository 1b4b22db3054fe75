import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { chatRequest, collectGeneration, textRequest } from '../../../test/engine-conformance.ts';
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
import { ApiError } from '../../errors.ts';
import type { GenerationEngine, GenerationEvent, GenerationRequest } from '../engine.ts';

const SECRET = 'sk-operators-secret';
const never = new AbortController().signal;

/** Returns the error of a request, after its events. */
async function failure(engine: GenerationEngine, request: GenerationRequest = chatRequest('Hello')) {
  const events: GenerationEvent[] = [];
  try {
    for await (const event of engine.generate(request, never)) events.push(event);
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.ok(!error.message.includes('127.0.0.1') && !error.message.includes(SECRET), error.message);
    assert.ok(!String(error.cause).includes(SECRET), String(error.cause));
    return { error, events };
  }
  throw new Error('the request did not fail');
}

const OVERFLOWS: [server: string, status: number, body: unknown, prompt: number | null, context: number][] = [
  [
    'OpenAI',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 4096 tokens. However, your messages resulted in 5001 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
    5001,
    4096,
  ],
  [
    'older vLLM',
    400,
    {
      object: 'error',
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5100 tokens (5000 in the messages, 100 in the completion). Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    5000,
    4096,
  ],
  [
    'vLLM',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
        type: 'BadRequestError',
        param: 'input_tokens',
        code: 400,
      },
    },
    5000,
    4096,
  ],
  [
    'llama-server',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 5000,
        n_ctx: 4096,
      },
    },
    5000,
    4096,
  ],
  [
    'newer llama-server',
    400,
    {
      error: {
        code: 400,
        message: 'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 5000,
        n_ctx: 4096,
      },
    },
    5000,
    4096,
  ],
  [
    'SGLang',
    400,
    {
      object: 'error',
      message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
      type: 'BadRequestError',
      code: 400,
    },
    5000,
    4096,
  ],
  [
    'SGLang, with the answer',
    400,
    {
      object: 'error',
      message:
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5100 tokens: 5000 tokens from the input messages and 100 tokens for the completion.",
      code: 400,
    },
    5000,
    4096,
  ],
  [
    'TGI',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`',
      error_type: 'validation',
    },
    5000,
    4096,
  ],
  [
    'older TGI',
    422,
    {
      error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000',
      error_type: 'validation',
    },
    5000,
    4096,
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum context length',
    },
    5000,
    4096,
  ],
  [
    'newer OpenAI',
    400,
    { error: { message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' } },
    null,
    8192,
  ],
];

describe('context overflow', () => {
  for (const [server, status, body, prompt, context] of OVERFLOWS) {
    it(`400 context_length_exceeded for the message of ${server}`, async (t) => {
      const { engine, posts } = await scripted(t, respondWithBody(status, body), { contextLength: 8192 });
      for (const request of [chatRequest('Hello'), textRequest('Hello', { incremental: false })]) {
        const { error, events } = await failure(engine, request);
        assert.deepEqual([error.status, error.code], [400, 'context_length_exceeded']);
        assert.equal(error.param, request.prompt.kind === 'chat' ? 'messages' : 'prompt');
        assert.ok(error.message.includes(`${context} tokens`), error.message);
        if (prompt !== null) assert.ok(error.message.includes(`${prompt} tokens`), error.message);
        assert.deepEqual(events, []);
      }
      assert.equal(posts().length, 2, 'it is not sent again');
    });
  }

  it('400 also when the context length is unknown', async (t) => {
    const body = { error: { message: 'Your input exceeds the context window of this model.' } };
    const { engine } = await scripted(t, respondWithBody(400, body));
    const { error } = await failure(engine);
    assert.deepEqual([error.status, error.code, error.param], [400, 'context_length_exceeded', 'messages']);
  });

  it('400 when the first frame of a stream says so', async (t) => {
    const frame = {
      error: { code: 400, message: 'too long', type: 'exceed_context_size_error', n_prompt_tokens: 50, n_ctx: 40 },
    };
    const { engine } = await scripted(t, respondWithStream(frame));
    const { error, events } = await failure(engine);
    assert.deepEqual([error.status, error.code, events.length], [400, 'context_length_exceeded', 0]);
  });

  it('a max_tokens beyond the context is retried with what it leaves', async (t) => {
    const message =
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, 4000 in the completion).";
    const { engine, posts } = await scripted(t, (request, response, count) => {
      const isOver = (request.body?.['max_tokens'] as number) > 3096;
      return (
        isOver
          ? respondWithBody(400, { message })
          : respondWithStream(chunk({ content: 'a' }), finish('length'), '[DONE]')
      )(request, response, count);
    });
    assert.equal(
      (await collectGeneration(engine, chatRequest('Hello', { maxTokens: 4000 }))).choices[0]!.reason,
      'length',
    );
    assert.deepEqual(
      posts().map(({ body }) => body?.['max_tokens']),
      [4000, 3096],
    );
  });
});

const html = '<html><body>nginx 127.0.0.1</body></html>';
const REFUSALS: [name: string, status: number, body: unknown, ours: number, param: string | null, says: RegExp][] = [
  [
    'OpenAI form',
    400,
    { error: { message: 'Bad temperature.', type: 'invalid_request_error', param: 'temperature', code: null } },
    400,
    'temperature',
    /Bad temperature\./,
  ],
  [
    'FastAPI form',
    422,
    { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'field required' }] },
    400,
    'messages.0.role',
    /field required\./,
  ],
  [
    'TGI form',
    422,
    { error: 'Template error: no tools', error_type: 'template_error' },
    400,
    null,
    /Template error: no tools\./,
  ],
  [
    'Ollama form',
    400,
    { error: { message: 'model does not support tools', type: 'api_error', param: null, code: null } },
    400,
    null,
    /does not support tools/,
  ],
  [
    'llama-server form, not supported',
    501,
    { error: { code: 501, message: 'This server does not support infill', type: 'not_supported_error' } },
    400,
    null,
    /infill/,
  ],
  ['plain text', 400, 'no such thing', 400, null, /no such thing/],
  ['HTML', 400, html, 400, null, /^The request is not accepted/],
  [
    'a sentence with the address and the key',
    400,
    { error: { message: `http://127.0.0.1:1/v1 says ${SECRET} 127.0.0.1:80 failed` } },
    400,
    null,
    /\[address\] says \[key\] \[address\] failed/,
  ],
  ['a param that is no name', 400, { error: { message: 'x', param: '<script>' } }, 400, null, /x\./],
  [
    'a wrong key',
    401,
    { error: { message: `Incorrect API key provided: ${SECRET.slice(0, 5)}***` } },
    503,
    null,
    /API key/,
  ],
  ['a forbidden key', 403, { detail: 'Forbidden' }, 503, null, /API key/],
  [
    'an unknown model',
    404,
    { error: { message: 'The model `the-model` does not exist.' } },
    503,
    null,
    /does not know the model/,
  ],
  ['no credit with the upstream', 402, { error: { message: 'Insufficient balance' } }, 503, null, /returned an error/],
  ['a redirect', 301, '', 503, null, /returned an error/],
  ['500', 500, { error: { message: 'CUDA out of memory' } }, 503, null, /returned an error/],
  ['500 with a page', 500, html, 503, null, /returned an error/],
  ['502 with a page', 502, html, 503, null, /returned an error/],
  [
    '503 while loading',
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    503,
    null,
    /not ready/,
  ],
  ['429', 429, { error: { message: 'Rate limit reached' } }, 503, null, /overloaded/],
];

describe('upstream errors', () => {
  for (const [name, status, body, ours, param, says] of REFUSALS) {
    it(`${name} becomes ${ours}`, async (t) => {
      const { engine } = await scripted(t, respondWithBody(status, body), { apiKey: SECRET });
      for (const incremental of [true, false]) {
        const { error, events } = await failure(engine, chatRequest('Hello', { incremental }));
        assert.deepEqual([error.status, error.param, events.length], [ours, param, 0]);
        assert.equal(error.code, ours === 400 ? 'invalid_value' : 'engine_unavailable');
        assert.match(error.message, says);
        if (ours === 503) {
          assert.ok(error.retryAfterSeconds !== null && error.retryAfterSeconds >= 1);
          assert.match(String(error.cause), new RegExp(`/v1/chat/completions answered with status ${status}`));
        }
      }
    });
  }

  it('an error frame of a stream has its own status', async (t) => {
    for (const [code, ours] of [
      [422, 400],
      [503, 503],
    ]) {
      const { engine } = await scripted(t, respondWithStream({ error: { code, message: 'Not this one.' } }));
      assert.equal((await failure(engine)).error.status, ours);
    }
  });

  it('an error of megabytes is truncated', async (t) => {
    const { engine } = await scripted(t, respondWithBody(400, { error: { message: `${'long '.repeat(1_000_000)}` } }));
    assert.ok((await failure(engine)).error.message.length < 1000);
  });

  it('503 when nothing listens there', async (t) => {
    const { engine, server } = await scripted(t, respondWithStream());
    await server.close();
    const { error } = await failure(engine);
    assert.deepEqual([error.status, error.code], [503, 'engine_unavailable']);
    assert.match(error.message, /cannot be reached/);
    assert.match(String(error.cause), /127\.0\.0\.1.*ECONNREFUSED/);
    await assert.rejects(engine.check(never), /does not answer: .*ECONNREFUSED/);
    assert.equal(engine.backend().ready, false);
  });

  it('503 when the host does not exist', async (t) => {
    const engine = engineFor(t, { baseUrls: ['http://host.invalid/v1'] });
    assert.match((await failure(engine)).error.message, /cannot be reached/);
  });
});

const UNUSABLE: [name: string, handler: Handler][] = [
  ['a page', respondWithBody(200, html)],
  ['an empty body', respondWithBody(200, '')],
  ['an empty object', respondWithBody(200, {})],
  ['no choice', respondWithBody(200, { choices: [] })],
  ['half an object', respondWithBody(200, '{"choices": [')],
  ['an error with status 200', respondWithBody(200, { error: { message: 'internal', code: 500 } })],
  ['only [DONE]', respondWithStream('[DONE]')],
  ['a first chunk that is no JSON', respondWithStream('{"choi')],
  ['an error frame first', respondWithStream({ error: { message: 'internal', code: 500 } })],
];

describe('invalid responses', () => {
  for (const [name, handler] of UNUSABLE) {
    it(`${name}: 503 before any event`, async (t) => {
      const { engine } = await scripted(t, handler);
      for (const incremental of [true, false]) {
        const { error, events } = await failure(engine, chatRequest('Hello', { incremental }));
        assert.deepEqual([error.status, events.length], [503, 0]);
      }
    });
  }

  it('fewer choices than requested: 400 for n', async (t) => {
    const { engine } = await scripted(
      t,
      respondWithBody(200, { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }),
    );
    const { error } = await failure(engine, chatRequest('Hello', { choices: 2, incremental: false }));
    assert.deepEqual([error.status, error.param], [400, 'n']);
  });
});

const begin = [chunk({ role: 'assistant' }), chunk({ content: 'begun' })];
const after =
  (then: Handler): Handler =>
  async (request, response, count) => {
    sendEvents(response, begin);
    await new Promise(setImmediate);
    await then(request, response, count);
  };
const BREAKS: [name: string, handler: Handler][] = [
  ['a close without [DONE]', after((_request, response) => void response.end())],
  ['a connection that is reset', after((_request, response) => void response.destroy())],
  ['an error frame', after(respondWithStream({ error: { message: 'internal', code: 500 } }))],
  ['an error frame in the same packet', respondWithStream(...begin, { error: { message: 'internal' } })],
  [
    'an error frame of the older vLLM',
    respondWithStream(...begin, { object: 'error', message: 'internal', code: 500 }),
  ],
  ['a chunk that is no JSON', respondWithStream(...begin, '{"choi')],
  ['a finish reason of "abort"', respondWithStream(...begin, finish('abort'), '[DONE]')],
  ['silence', after(() => {})],
];

describe('interrupted responses', () => {
  for (const [name, handler] of BREAKS) {
    it(`${name}: 503 after the events, and nothing is retried`, async (t) => {
      const { engine, posts, server } = await scripted(
        t,
        handler,
        name === 'silence' ? { timeouts: { idleSeconds: 0.02 } } : {},
      );
      const { error, events } = await failure(engine);
      assert.deepEqual([error.status, error.code], [503, 'engine_unavailable']);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['prompt-end', 'text-delta'],
      );
      assert.equal(posts().length, 1);
      if (name === 'silence') await server.left(1);
    });
  }

  it('a connection reset after the finish reason loses nothing of the response', async (t) => {
    const { engine } = await scripted(t, async (_request, response) => {
      sendEvents(response, [...begin, finish('stop')]);
      await new Promise(setImmediate);
      response.destroy();
    });
    assert.equal((await collectGeneration(engine, chatRequest('Hello'))).choices[0]!.text, 'begun');
  });
});

/** Mocked time: on a busy machine real timeouts would expire before anything is sent. */
describe('timeouts', () => {
  const timeouts = { firstByteSeconds: 60, wholeResponseSeconds: 60 };
  const passTime = (t: TestContext) => t.mock.timers.tick(60_000);

  it('no first byte in time: 503, and nothing is retried', async (t) => {
    let came = () => {};
    const { engine, posts, server } = await scripted(t, () => came(), { timeouts });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const incremental of [true, false]) {
      const coming = new Promise<void>((resolve) => {
        came = resolve;
      });
      const failing = failure(engine, chatRequest('Hello', { incremental }));
      await coming;
      passTime(t);
      assert.match((await failing).error.message, /did not respond in time/);
    }
    await server.left(2);
    assert.equal(posts().length, 2);
  });

  it('the head alone does not count as the first byte', async (t) => {
    const { engine, server } = await scripted(t, (_request, response) => response.flushHeaders(), { timeouts });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const coming = responseReceived('head');
    const failing = failure(engine);
    await coming;
    passTime(t);
    assert.match((await failing).error.message, /did not respond in time/);
    await server.left(1);
  });

  it('comments are a first byte', async (t) => {
    const late = Promise.withResolvers<void>();
    const handle: Handler = async (_request, response) => {
      response.write(': ping\n\n');
      await late.promise;
      sendEvents(response, [chunk({ content: 'a' }), finish('stop'), '[DONE]']);
      response.end();
    };
    const { engine } = await scripted(t, handle, { timeouts });
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const coming = responseReceived('piece');
    const answer = collectGeneration(engine, chatRequest('Hello'));
    await coming;
    passTime(t);
    late.resolve();
    assert.equal((await answer).choices[0]!.text, 'a');
  });
});
