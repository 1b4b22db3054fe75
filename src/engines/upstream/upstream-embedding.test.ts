import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { BUNDLED_MODELS, Embedder } from '@quire/bundled-models';
import { embeddingConformance, embeddingRequest } from '../../../test/embedding-conformance.ts';
import {
  type Handler,
  type SeenRequest,
  sendJson,
  startServerWithEngine,
} from '../../../test/fixtures/upstream-server.ts';
import { ApiError } from '../../errors.ts';
import { createLogger } from '../../lib/logger.ts';
import { createUpstreamEmbedding, type UpstreamEmbeddingOptions } from './upstream-embedding.ts';

const embedder = new Embedder(readFileSync(BUNDLED_MODELS.embedding.file));
const never = new AbortController().signal;
const WINDOW = 512;

const engineAt = (baseUrl: string, options: Partial<UpstreamEmbeddingOptions> = {}) =>
  createUpstreamEmbedding({
    baseUrls: [baseUrl],
    model: 'embedder-1',
    apiKey: 'secret',
    contextLength: null,
    estimateTokenCount: (text) => embedder.countTokens(text),
    proxy: null,
    timeouts: { retrySeconds: 0.01 },
    logger: createLogger('silent'),
    ...options,
  });

const refuse = (response: Parameters<Handler>[1], status: number, error: string) =>
  sendJson(response, status, { error, error_type: 'Validation' });

/** OpenAI-style vectors of texts, in reverse order. */
function answered(texts: readonly string[], encoding: unknown, wanted: { reported?: boolean } = {}) {
  const data = texts.map((text, index) => {
    // Servers need not return vectors of length 1.
    const vector = embedder.embed(text).vector!.map((value) => value * 2);
    const embedding = encoding === 'base64' ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector);
    return { object: 'embedding', index, embedding };
  });
  const tokens = texts.reduce((sum, text) => sum + embedder.countTokens(text) + 2, 0);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return { object: 'list', data: data.reverse(), ...(wanted.reported !== false && { usage }) };
}

/** The texts of an embedding request. */
const inputOf = ({ body }: Pick<SeenRequest, 'body'>) => (body?.['input'] ?? []) as string[];

/** A server like Text Embeddings Inference: 32 texts, 512 tokens with two special ones, both reported. */
const inference: Handler = ({ path, body }, response) => {
  if (path === '/tokenize') {
    const token = { id: 1, text: 'a', special: false, start: 0, stop: 1 };
    const lists = ((body?.['inputs'] ?? []) as string[]).map((text) => Array(embedder.countTokens(text)).fill(token));
    return sendJson(response, 200, lists);
  }
  const texts = body?.['input'] as string[];
  if (texts.includes('')) return refuse(response, 422, '`inputs` cannot be empty');
  if (texts.length > 32) return refuse(response, 422, `batch size ${texts.length} > maximum allowed batch size 32`);
  const longest = Math.max(...texts.map((text) => embedder.countTokens(text) + 2));
  if (longest > WINDOW)
    return refuse(response, 413, `\`inputs\` must have less than ${WINDOW} tokens. Given: ${longest}`);
  sendJson(response, 200, answered(texts, body?.['encoding_format']));
};

embeddingConformance('a server like Text Embeddings Inference', () =>
  startServerWithEngine((baseUrl) => engineAt(baseUrl), inference, { max_input_length: WINDOW }),
);

describe('an upstream embedding engine', () => {
  async function start(
    t: TestContext,
    handle: Handler,
    options: Partial<UpstreamEmbeddingOptions> = {},
    info?: object,
  ) {
    const { engine, server, close } = await startServerWithEngine(
      (baseUrl) => engineAt(baseUrl, options),
      handle,
      info,
    );
    t.after(close);
    const posts = (path: string) => server.requests.filter((request) => request.path === path && request.body !== null);
    return { engine, server, posts };
  }
  /** A server without a tokenizer. */
  const plain =
    (wanted: { reported?: boolean; maxTexts?: number; floatsOnly?: boolean } = {}): Handler =>
    ({ path, body }, response) => {
      if (path !== '/v1/embeddings') return sendJson(response, 404, { error: { message: 'no such path' } });
      const texts = body?.['input'] as string[];
      if (texts.length > (wanted.maxTexts ?? 2048)) return refuse(response, 413, 'too many texts');
      if (wanted.floatsOnly && body?.['encoding_format'] !== 'float') return refuse(response, 422, 'unknown format');
      sendJson(response, 200, answered(texts, body?.['encoding_format'], wanted));
    };
  const failsWith = (promise: Promise<unknown>, status: number, code: string, param: string | null = null) =>
    assert.rejects(promise, (error) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.deepEqual([error.status, error.code, error.param], [status, code, param], error.message);
      return true;
    });

  it('sends model, texts and key, and returns normalized vectors in order, with the reported tokens', async (t) => {
    const { engine, posts } = await start(t, plain());
    const { vectors, tokens } = await engine.embed(embeddingRequest(['some text', 'other']), never);
    for (const [i, text] of ['some text', 'other'].entries()) {
      const expected = embedder.embed(text).vector!;
      assert.ok(vectors[i]!.every((value, at) => Math.abs(value - expected[at]!) < 1e-6));
    }
    assert.equal(tokens, 2 + 2 + 1 + 2);
    const post = posts('/v1/embeddings').at(-1);
    assert.equal(post?.headers.authorization, 'Bearer secret');
    assert.deepEqual(post?.body, { model: 'embedder-1', input: ['some text', 'other'], encoding_format: 'base64' });
  });

  it('requests floats when base64 is rejected', async (t) => {
    const { engine, posts } = await start(t, plain({ floatsOnly: true }));
    assert.equal((await engine.embed(embeddingRequest(['a']), never)).vectors[0]?.length, 1024);
    assert.equal(posts('/v1/embeddings').at(-1)?.body?.['encoding_format'], 'float');
  });

  it('estimates tokens for a server without usage and tokenizer', async (t) => {
    const { engine } = await start(t, plain({ reported: false }));
    assert.equal((await engine.embed(embeddingRequest(['some text', 'other']), never)).tokens, 3);
    assert.deepEqual(await engine.countTokens(['some text', 'other'], never), [2, 1]);
  });

  it('sends 32 texts per request, and fewer after a rejection', async (t) => {
    const { engine, posts } = await start(t, plain({ maxTexts: 10 }));
    const texts = Array.from({ length: 50 }, (_, i) => `text ${i}`);
    const sizes = () => posts('/v1/embeddings').map((request) => inputOf(request).length);
    assert.equal((await engine.embed(embeddingRequest(texts), never)).vectors.length, 50);
    assert.equal(Math.max(...sizes()), 32);
    const before = sizes().length;
    assert.equal((await engine.embed(embeddingRequest(texts), never)).vectors.length, 50);
    assert.ok(
      sizes()
        .slice(before)
        .every((size) => size <= 10),
    );
  });

  it('splits a text longer than the window, weighted by tokens', async (t) => {
    const { engine, posts } = await start(t, inference, {}, { max_input_length: WINDOW });
    const long = 'The committee met in the old town hall. '.repeat(150);
    const short = 'A short text.';
    const [vector] = (await engine.embed(embeddingRequest([long, short]), never)).vectors;
    const sent = posts('/v1/embeddings').flatMap(inputOf);
    const windows = sent.filter((text) => text !== short && text !== 'library');
    assert.equal(windows.length, Math.ceil(embedder.countTokens(long) / (WINDOW - 4)));
    assert.equal(windows.join(''), long);
    const similarity = vector!.reduce((sum, value, i) => sum + value * embedder.embed(long).vector![i]!, 0);
    assert.ok(similarity > 0.99, String(similarity));
    assert.ok(Math.abs(Math.hypot(...vector!) - 1) < 1e-5);
  });

  it('counts by the tokenizer of vLLM and of llama-server, and takes the window of the first', async (t) => {
    const count = (text: unknown) => 3 * embedder.countTokens(text as string);
    for (const kind of ['prompt', 'content']) {
      const handle: Handler = (request, response, number) => {
        const { path, body } = request;
        if (path !== '/tokenize') return plain()(request, response, number);
        const text = body?.[kind];
        if (kind === 'prompt' && text === undefined)
          return sendJson(response, 400, { error: { message: 'no prompt' } });
        const tokens = Array(text === undefined ? 0 : count(text)).fill(1);
        sendJson(response, 200, kind === 'prompt' ? { count: tokens.length, max_model_len: 40, tokens } : { tokens });
      };
      const { engine, posts } = await start(t, handle);
      assert.deepEqual(await engine.countTokens(['one two', 'one'], never), [6, 3]);
      const { add_special_tokens, add_special } = posts('/tokenize').at(-1)?.body ?? {};
      assert.equal(kind === 'prompt' ? add_special_tokens : add_special, false);
      await engine.embed(embeddingRequest(['word '.repeat(20)]), never);
      const sent = posts('/v1/embeddings').at(-1)?.body?.['input'] as string[];
      assert.equal(sent.length, kind === 'prompt' ? 2 : 1);
      await failsWith(
        engine.embed(embeddingRequest(['word '.repeat(20)], { maxTokensPerText: 59 }), never),
        400,
        'token_limit_exceeded',
        'input.0',
      );
    }
  });

  it('adds the prefixes of the model to queries and documents', async (t) => {
    const { engine, posts } = await start(t, plain(), { model: 'BAAI/bge-large-en-v1.5' });
    for (const purpose of ['text', 'query', 'document'] as const)
      await engine.embed(embeddingRequest(['a'], { purpose }), never);
    assert.deepEqual(
      posts('/v1/embeddings')
        .slice(-3)
        .map((request) => inputOf(request)[0]),
      ['a', 'Represent this sentence for searching relevant passages: a', 'a'],
    );
    const other = await start(t, plain(), { model: 'other' });
    assert.notEqual(engine.fingerprint(), other.engine.fingerprint());
  });

  it('rejects a model with another dimension: a sentence for the operator, 503 for callers', async (t) => {
    const { engine } = await start(t, (_request, response) =>
      sendJson(response, 200, { data: [{ index: 0, embedding: Array(768).fill(0.1) }] }),
    );
    await assert.rejects(engine.check(never), /'embedder-1' gives vectors of 768 floats; Quire works with 1024/);
    await failsWith(engine.embed(embeddingRequest(['a']), never), 503, 'engine_unavailable');
  });

  it('requests truncated vectors of a larger model, and rejects it otherwise', async (t) => {
    for (const isMadeForIt of [true, false]) {
      const { engine, posts } = await start(t, ({ path, body }, response) => {
        if (path !== '/v1/embeddings') return sendJson(response, 404, {});
        const floats = isMadeForIt && body?.['dimensions'] === 1024 ? 1024 : 3072;
        const embedding = Array(floats).fill(0.1);
        sendJson(response, 200, { data: inputOf({ body }).map((_, index) => ({ index, embedding })) });
      });
      if (!isMadeForIt) await assert.rejects(engine.check(never), /3072 floats/);
      else assert.equal((await engine.embed(embeddingRequest(['a', 'b']), never)).vectors.length, 2);
      assert.equal(posts('/v1/embeddings').at(-1)?.body?.['dimensions'], 1024);
    }
  });

  it('reports the path of a rejected text among many', async (t) => {
    const handle: Handler = (request, response, number) => {
      const texts = request.body?.['input'] as string[] | undefined;
      if (texts?.includes('too long'))
        return refuse(response, 413, '`inputs` must have less than 512 tokens. Given: 600');
      if (texts?.includes('odd')) return refuse(response, 422, 'an odd text');
      return plain()(request, response, number);
    };
    const { engine } = await start(t, handle);
    await failsWith(
      engine.embed(embeddingRequest(['a', 'b', 'c', 'too long']), never),
      400,
      'token_limit_exceeded',
      'input.3',
    );
    await failsWith(engine.embed(embeddingRequest(['a', 'odd', 'c']), never), 400, 'invalid_value', 'input.1');
    assert.equal((await engine.embed(embeddingRequest(['a']), never)).vectors.length, 1);
  });

  it('503 for an invalid response', async (t) => {
    const good = answered(['a', 'b'], 'float').data;
    const wrong = [
      {},
      { data: 'none' },
      { data: good.slice(1) },
      { data: [good[0], good[0]] },
      { data: [{ ...good[0], index: 7 }, good[1]] },
      { data: [{ ...good[0], embedding: Array(1023).fill(0.1) }, good[1]] },
      { data: [{ ...good[0], embedding: Array(1024).fill(0) }, good[1]] },
      { data: [{ ...good[0], embedding: Array(1024).fill('0.1') }, good[1]] },
      { data: [{ ...good[0], embedding: 'AAAAAA==' }, good[1]] },
    ];
    let answer: object = {};
    const { engine } = await start(t, (request, response, number) =>
      (request.body?.['input'] as string[] | undefined)?.length === 2
        ? sendJson(response, 200, answer)
        : plain()(request, response, number),
    );
    for (answer of wrong) await failsWith(engine.embed(embeddingRequest(['a', 'b']), never), 503, 'engine_unavailable');
  });

  it('detects the dialect again after a server that did not respond', async (t) => {
    let isUp = false;
    const { engine } = await start(t, (request, response, number) =>
      isUp ? plain()(request, response, number) : sendJson(response, 500, {}),
    );
    await failsWith(engine.embed(embeddingRequest(['a']), never), 503, 'engine_unavailable');
    isUp = true;
    assert.equal((await engine.embed(embeddingRequest(['a']), never)).vectors.length, 1);
  });
});
