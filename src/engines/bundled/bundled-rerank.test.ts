import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS, Reranker } from '@quire/bundled-models';
import { checkFairQueue, checkFairTurns, FAIR_QUEUE_REQUESTS } from '../../../test/fair-queue.ts';
import { rerankConformance } from '../../../test/rerank-conformance.ts';
import { ApiError } from '../../errors.ts';
import type { RerankEngine } from '../rerank-engine.ts';
import { createBundledRerank } from './bundled-rerank.ts';

const { file: FILE, embedderFile: EMBEDDER } = BUNDLED_MODELS.rerank;
const SENTENCE = 'The members of the committee agreed on most points of the plan. ';
const QUERY = 'When does the library open?';
const never = new AbortController().signal;

rerankConformance('the bundled model', async () => {
  const engine = createBundledRerank(BUNDLED_MODELS.rerank);
  return { engine, close: () => engine.close() };
});

describe('the bundled rerank engine', () => {
  const engines: RerankEngine[] = [];
  const start = (options: { file?: string; maxCalls?: number } = {}) => {
    const engine = createBundledRerank({ file: FILE, embedderFile: EMBEDDER, name: 'test', ...options });
    engines.push(engine);
    return engine;
  };
  after(() => Promise.all(engines.map((engine) => engine.close())));

  it('returns the scores and tokens of Reranker, over any number of portions', async () => {
    const reranker = new Reranker(readFileSync(FILE), readFileSync(EMBEDDER));
    const documents = ['The library opens at nine.', '', SENTENCE.repeat(100), SENTENCE, ...Array(2_000).fill('Nine.')];
    const { scores, tokens } = await start().rerank({ query: QUERY, documents }, never);
    const expected = documents.map((document) => reranker.score(QUERY, document));
    assert.deepEqual(
      scores,
      expected.map(({ score }) => score),
    );
    assert.equal(
      tokens,
      expected.reduce((sum, each) => sum + each.tokens, reranker.countQueryTokens(QUERY)),
    );
  });

  it('scores a long document by its best window, wherever it is', async () => {
    const [answer, filling] = ['The library opens at nine.', SENTENCE.repeat(1_000)];
    const documents = [filling, answer + filling, filling + answer, `${filling}${answer}${filling}`];
    const { scores, tokens } = await start().rerank({ query: QUERY, documents }, never);
    const [without = 1, ...others] = scores;
    for (const score of others) assert.ok(score > without * 2, `${score} and ${without}`);
    assert.ok(tokens > 60_000 && tokens < 80_000, String(tokens));
  });

  it('loads the model at the first call and reports it as ready', async () => {
    const engine = start();
    assert.deepEqual(engine.backend(), { engine: 'bundled', model: 'test', parameters: null, ready: false });
    await engine.rerank({ query: QUERY, documents: ['a'] }, never);
    assert.equal(engine.backend().ready, true);
    assert.ok((engine.backend().parameters ?? 0) > 1_000_000);
  });

  it('answers a short call while a long one runs', async () => {
    const engine = start();
    await engine.check(never);
    const order: string[] = [];
    const long = engine
      .rerank({ query: QUERY, documents: Array<string>(500).fill(SENTENCE.repeat(100)) }, never)
      .then(() => order.push('long'));
    const short = engine.rerank({ query: QUERY, documents: [SENTENCE] }, never).then(() => order.push('short'));
    await Promise.all([long, short]);
    assert.deepEqual(order, ['short', 'long']);
  });

  it('503 when the queue is full; aborted calls do not count', async () => {
    const engine = start({ maxCalls: 2 });
    const controllers = Array.from({ length: 2 }, () => new AbortController());
    const documents = Array<string>(100).fill(SENTENCE.repeat(500));
    const calls = controllers.map(({ signal }) =>
      assert.rejects(engine.rerank({ query: QUERY, documents }, signal), /left/),
    );
    await assert.rejects(
      engine.rerank({ query: QUERY, documents: ['a'] }, never),
      (error) => error instanceof ApiError && error.code === 'engine_unavailable' && error.retryAfterSeconds === 1,
    );
    for (const controller of controllers) controller.abort(new Error('left'));
    await Promise.all(calls);
    assert.equal((await engine.rerank({ query: QUERY, documents: ['a'] }, never)).scores.length, 1);
  });

  it('admits another organization when one fills the queue', async () => {
    const engine = start({ maxCalls: FAIR_QUEUE_REQUESTS });
    const documents = Array<string>(100).fill(SENTENCE.repeat(500));
    await checkFairQueue((scope, signal) => engine.rerank({ query: QUERY, documents, scope }, signal));
  });

  it('serves another organization after few calls of one that floods it', async () => {
    const engine = start();
    const documents = Array<string>(10).fill(SENTENCE.repeat(20));
    await checkFairTurns((scope) => engine.rerank({ query: QUERY, documents, scope }, never));
  });

  it('reports why weights cannot be loaded, and loads them once they can be', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-rerank-'));
    try {
      const file = join(folder, 'weights.bin');
      writeFileSync(file, 'no weights at all');
      const engine = start({ file });
      await assert.rejects(engine.check(never), /not a rerank model/);
      await assert.rejects(
        engine.rerank({ query: QUERY, documents: ['a'] }, never),
        (error) => error instanceof ApiError && error.status === 503 && /rerank model/.test(String(error.cause)),
      );
      writeFileSync(file, readFileSync(FILE));
      await engine.check(never);
      assert.equal((await engine.rerank({ query: QUERY, documents: ['a'] }, never)).scores.length, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
