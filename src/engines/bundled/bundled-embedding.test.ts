import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS, Embedder, PassageMatcher } from '@quire/bundled-models';
import { embeddingConformance, embeddingRequest } from '../../../test/embedding-conformance.ts';
import { watchEventLoop } from '../../../test/event-loop.ts';
import { checkFairQueue, checkFairTurns, FAIR_QUEUE_REQUESTS } from '../../../test/fair-queue.ts';
import { ApiError } from '../../errors.ts';
import type { EmbeddingEngine } from '../embedding-engine.ts';
import { createBundledEmbedding } from './bundled-embedding.ts';

const FILE = BUNDLED_MODELS.embedding.file;
const SENTENCE = 'The members of the committee agreed on most points of the plan. ';
const LONG = SENTENCE.repeat(100);
const never = new AbortController().signal;

embeddingConformance('the bundled model', async () => {
  const engine = createBundledEmbedding(BUNDLED_MODELS.embedding);
  return { engine, close: () => engine.close() };
});

describe('the bundled embedding engine', () => {
  const engines: EmbeddingEngine[] = [];
  const start = (options: { file?: string; maxQueuedCalls?: number } = {}) => {
    const engine = createBundledEmbedding({ file: FILE, name: 'test', ...options });
    engines.push(engine);
    return engine;
  };
  after(() => Promise.all(engines.map((engine) => engine.close())));

  it('returns the vectors and tokens of Embedder bit for bit, inline and from the worker', async () => {
    const embedder = new Embedder(readFileSync(FILE));
    const engine = start();
    const texts = ['How do I reset my password?', '東京', LONG, ''];
    for (const call of [texts.slice(0, 2), texts, Array(600).fill(texts).flat()]) {
      const { vectors, tokens } = await engine.embed(embeddingRequest(call), never);
      const expected = call.map((text) => embedder.embed(text));
      assert.deepEqual(
        vectors,
        expected.map(({ vector }) => vector),
      );
      assert.equal(
        tokens,
        expected.reduce((sum, each) => sum + each.tokens, 0),
      );
      assert.deepEqual(
        await engine.countTokens(call, never),
        expected.map((each) => each.tokens),
      );
    }
  });

  it('compares the passages of texts with a query in the worker, in the order of the texts', async () => {
    const engine = start();
    const matcher = new PassageMatcher(readFileSync(FILE));
    const texts = [LONG, 'plan', '', `${LONG} How do I reset my password?`, '東京'];
    const expected = texts.map((text) => matcher.match('password reset', text));
    assert.deepEqual(await engine.matchPassages?.('password reset', texts, never), expected);
    const left = AbortSignal.abort(new Error('left'));
    await assert.rejects(async () => engine.matchPassages?.('plan', texts, left), /left/);
  });

  it('loads the model at the first call, reports it as ready and has a fingerprint', async () => {
    const engine = start();
    assert.deepEqual(engine.backend(), { engine: 'bundled', model: 'test', parameters: null, ready: false });
    await engine.embed(embeddingRequest(['a']), never);
    assert.equal(engine.backend().ready, true);
    assert.ok((engine.backend().parameters ?? 0) > 18_000_000);
    const { 1: named } = readFileSync(FILE.replace(/bin$/, 'md'), 'utf8').match(/SHA-256 `([0-9a-f]{64})`/) ?? [];
    assert.ok(named !== undefined && engine.fingerprint().includes(named));
  });

  it('answers short calls while a long one runs, without blocking the event loop', async () => {
    const engine = start();
    await engine.check(never);
    const order: string[] = [];
    const loop = watchEventLoop();
    const done = (name: string) => () => order.push(name);
    const long = engine.embed(embeddingRequest(Array(2048).fill(LONG)), never).then(done('long'));
    const middle = engine.embed(embeddingRequest([LONG]), never).then(done('middle'));
    const short = engine.embed(embeddingRequest([SENTENCE]), never).then(done('short'));
    await Promise.all([long, middle, short]);
    assert.deepEqual(order, ['short', 'middle', 'long']);
    const longest = loop.longestMs();
    assert.ok(longest < 100, `the event loop was kept busy for ${longest} ms`);
  });

  it('503 when the queue is full; aborted calls do not count', async () => {
    const engine = start({ maxQueuedCalls: 2 });
    const controllers = Array.from({ length: 2 }, () => new AbortController());
    const calls = controllers.map(({ signal }) =>
      assert.rejects(engine.embed(embeddingRequest(Array(200).fill(LONG)), signal), /left/),
    );
    await assert.rejects(
      engine.embed(embeddingRequest([LONG]), never),
      (error) => error instanceof ApiError && error.code === 'engine_unavailable' && error.retryAfterSeconds === 1,
    );
    for (const controller of controllers) controller.abort(new Error('left'));
    await Promise.all(calls);
    assert.equal((await engine.embed(embeddingRequest([LONG]), never)).vectors.length, 1);
  });

  it('admits another organization when one fills the queue', async () => {
    const engine = start({ maxQueuedCalls: FAIR_QUEUE_REQUESTS });
    await checkFairQueue((scope, signal) =>
      engine.embed({ ...embeddingRequest(Array(2048).fill(LONG)), scope }, signal),
    );
    await checkFairQueue((scope, signal) => engine.countTokens(Array(2048).fill(LONG), signal, scope));
  });

  it('serves another organization after few calls of one that floods it', async () => {
    const engine = start();
    const texts = Array<string>(8).fill('a word '.repeat(600));
    await checkFairTurns((scope) => engine.embed({ ...embeddingRequest(texts), scope }, never));
  });

  it('503 when the worker exits; it restarts for the next call', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-embedding-'));
    try {
      const file = join(folder, 'weights.bin');
      writeFileSync(file, 'no weights at all');
      const engine = start({ file });
      await assert.rejects(engine.check(never), /not an embedding model/);
      for (const text of ['a', LONG]) {
        await assert.rejects(
          engine.embed(embeddingRequest([text]), never),
          (error) => error instanceof ApiError && error.status === 503 && /embedding model/.test(String(error.cause)),
        );
      }
      writeFileSync(file, readFileSync(FILE));
      await engine.check(never);
      assert.equal((await engine.embed(embeddingRequest([LONG]), never)).vectors.length, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
