import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../../../test/deadline.ts';
import { checkFairQueue, FAIR_QUEUE_REQUESTS } from '../../../test/fair-queue.ts';
import {
  type Handler,
  type SeenRequest,
  sendJson,
  startServer,
  startServerWithEngine,
} from '../../../test/fixtures/upstream-server.ts';
import { rerankConformance } from '../../../test/rerank-conformance.ts';
import { ApiError } from '../../errors.ts';
import { createLogger } from '../../lib/logger.ts';
import { createUpstreamRerank } from './upstream-rerank.ts';

const never = new AbortController().signal;

const optionsFor = (...baseUrls: string[]) => ({
  baseUrls,
  model: 'rank-1',
  apiKey: 'secret',
  proxy: null,
  timeouts: { retrySeconds: 0.01 },
  logger: createLogger('silent'),
});
const engineAt = (...baseUrls: string[]) => createUpstreamRerank(optionsFor(...baseUrls));

/** Fraction of the query's words in the document: the relevance model of these test servers. */
function shareOf(query: string, document: string): number {
  const words = new Set(query.toLowerCase().match(/\w+/g));
  const found = new Set(document.toLowerCase().match(/\w+/g));
  return words.size === 0 ? 0 : [...words].filter((word) => found.has(word)).length / words.size;
}

/** The texts of a rerank request, under either name. */
const given = (body: SeenRequest['body']) => [body?.['documents'] ?? body?.['texts'] ?? []].flat() as string[];

/** Scores in descending order, as servers return them. */
function ranked(body: SeenRequest['body'], score: (share: number) => number) {
  return given(body)
    .map((text, index) => ({ index, score: score(shareOf(String(body?.['query']), text)) }))
    .toSorted((a, b) => b.score - a.score);
}

/** vLLM, Jina and the like. */
const cohere =
  (score = (share: number) => share): Handler =>
  ({ path, body }, response) => {
    if (path !== '/v1/rerank') return sendJson(response, 404, { detail: 'Not Found' });
    const results = ranked(body, score).map((each) => ({
      index: each.index,
      relevance_score: each.score,
    }));
    sendJson(response, 200, { results });
  };

/** Text Embeddings Inference. */
const texts: Handler = ({ path, body }, response) => {
  const list = body?.['texts'];
  const answer = ranked(body, (share) => share);
  if (path !== '/rerank') response.writeHead(404).end();
  else if (!Array.isArray(list)) response.writeHead(422).end('missing field `texts`');
  else if (list.length > 32) sendJson(response, 422, { error: 'batch size > 32', error_type: 'Validation' });
  else sendJson(response, 200, answer);
};

async function subjectOf(handle: Handler) {
  return startServerWithEngine(engineAt, async (request, response, count) => {
    await turn();
    await handle(request, response, count);
  });
}

rerankConformance("a server of Cohere's kind", () => subjectOf(cohere()));
rerankConformance('a server that gives logits', () => subjectOf(cohere((share) => 12 * share - 6)));
rerankConformance('Text Embeddings Inference', () => subjectOf(texts));

describe('an upstream rerank engine', () => {
  async function start(t: TestContext, handle: Handler) {
    const { engine, server, close } = await startServerWithEngine(engineAt, handle);
    t.after(close);
    const posts = () => server.requests.filter(({ method }) => method === 'POST');
    const judge = (...documents: string[]) => engine.rerank({ query: 'a b', documents }, never);
    return { engine, server, posts, judge };
  }
  const results = (...scores: unknown[]) => ({
    results: scores.map((score, index) => ({ index, relevance_score: score })),
  });
  const rejects = (call: Promise<unknown>, status: number, code: string) =>
    assert.rejects(call, (error) => error instanceof ApiError && error.status === status && error.code === code);

  it('sends model, query, non-blank documents and key, and reads the usage', async (t) => {
    const { posts, judge } = await start(t, ({ body }, response) =>
      sendJson(response, 200, {
        ...results(...given(body).map(() => 0.5)),
        usage: { total_tokens: 12 },
      }),
    );
    assert.deepEqual(await judge('a', ' ', 'b'), { scores: [0.5, 0, 0.5], tokens: 12 });
    const [trial, post] = posts();
    assert.equal(given(trial?.body ?? null).length, 2);
    assert.equal(post?.path, '/v1/rerank');
    assert.equal(post?.headers.authorization, 'Bearer secret');
    assert.deepEqual(post?.body, { model: 'rank-1', query: 'a b', documents: ['a', 'b'], return_documents: false });
  });

  it("reads results named 'data'", async (t) => {
    const { judge } = await start(t, ({ body }, response) =>
      sendJson(response, 200, { data: given(body).map((_, index) => ({ index, relevance_score: index / 10 })) }),
    );
    assert.deepEqual((await judge('a', 'b')).scores, [0, 0.1]);
  });

  it("reads Cohere's token count, and approximates it for servers without one", async (t) => {
    const reported = [{}, { meta: { tokens: { input_tokens: 7 } } }, {}];
    const { judge } = await start(t, ({ body }, response, count) =>
      sendJson(response, 200, { ...results(...given(body).map(() => 0.5)), ...reported[count] }),
    );
    assert.equal((await judge('a', 'b')).tokens, 7);
    // A quarter of the characters of query and document, for each document.
    assert.equal((await judge('abcdefgh', 'b')).tokens, 4);
  });

  it('detects logits once, even if a call has scores between 0 and 1', async (t) => {
    const { posts, judge } = await start(t, ({ body }, response) =>
      sendJson(response, 200, results(...(given(body)[0] === 'a' ? [0.5, 0] : [6, -9]))),
    );
    const { scores } = await judge('a', 'b');
    assert.deepEqual(
      scores.map((score) => score.toFixed(3)),
      ['0.622', '0.500'],
    );
    await judge('a', 'b');
    assert.equal(posts().length, 3);
  });

  it('keeps probabilities', async (t) => {
    const { judge } = await start(t, (_request, response) => sendJson(response, 200, results(1, 0)));
    assert.deepEqual((await judge('a', 'b')).scores, [1, 0]);
  });

  it('detects Text Embeddings Inference beside /v1 once, and sends 32 texts per request', async (t) => {
    const { posts, judge } = await start(t, texts);
    const documents = Array.from({ length: 70 }, (_, i) => (i === 69 ? 'a b' : `${i}`));
    const { scores } = await judge(...documents);
    assert.deepEqual([scores.length, scores[69], scores[0]], [70, 1, 0]);
    await judge('a');
    const sizes = posts().map(({ path, body }) => [path, given(body).length]);
    const expected = [
      ['/v1/rerank', 2],
      ['/rerank', 2],
      ['/rerank', 32],
      ['/rerank', 32],
      ['/rerank', 6],
      ['/rerank', 1],
    ];
    assert.deepEqual(sizes.toSorted(), expected.toSorted());
    const last = posts().at(-1)?.body;
    assert.deepEqual(last, { query: 'a b', texts: ['a'], raw_scores: false, truncate: true });
  });

  it('detects the dialect again when another kind of server has taken the address', async (t) => {
    let handle = cohere();
    const { judge } = await start(t, (...given) => handle(...given));
    assert.deepEqual((await judge('a b')).scores, [1]);
    handle = texts;
    await rejects(judge('a b'), 503, 'engine_unavailable');
    assert.deepEqual((await judge('a b')).scores, [1]);
  });

  it('503 when a server supports neither dialect; the next call tries again', async (t) => {
    const { posts, judge } = await start(t, ({ path }, response) =>
      path === '/v1/rerank'
        ? sendJson(response, 404, { message: 'The model `rank-1` does not exist.' })
        : sendJson(response, 400, { message: 'documents: field required' }),
    );
    await rejects(judge('a'), 503, 'engine_unavailable');
    await rejects(judge('a'), 503, 'engine_unavailable');
    assert.equal(posts().length, 4);
  });

  it('503 for an invalid response, without a retry', async (t) => {
    const wrong = [
      {},
      { results: 'none' },
      results(),
      results(0.1, 0.2),
      results('much'),
      results(null),
      { results: [{ index: 0 }] },
      { results: [{ index: 1, relevance_score: 1 }] },
      { results: [{ relevance_score: 1 }] },
      [],
    ];
    const { posts, judge } = await start(t, (_request, response, count) =>
      sendJson(response, 200, count === 0 ? results(1, 0) : wrong[count - 1]),
    );
    for (const _ of wrong) await rejects(judge('a'), 503, 'engine_unavailable');
    assert.equal(posts().length, wrong.length + 1);
    const twice = { results: [0, 0].map((index) => ({ index, relevance_score: 1 })) };
    const { judge: judgeTwo } = await start(t, (_request, response) => sendJson(response, 200, twice));
    await rejects(judgeTwo('a', 'b'), 503, 'engine_unavailable');
  });

  it('retries while the server is not ready, and passes on its errors', async (t) => {
    const { posts, judge } = await start(t, (_request, response, count) => {
      if (count === 0) sendJson(response, 503, { error: { message: 'loading' } });
      else if (count === 1) sendJson(response, 200, results(1, 0));
      else if (count === 2) sendJson(response, 200, results(0.4));
      else sendJson(response, 400, { error: { message: 'no such thing', param: 'documents' } });
    });
    assert.deepEqual((await judge('a')).scores, [0.4]);
    await assert.rejects(
      judge('a'),
      (error) => error instanceof ApiError && error.status === 400 && error.param === 'documents',
    );
    assert.equal(posts().length, 4);
  });

  it('fails over to another server', async (t) => {
    const { server } = await start(t, cohere());
    const gone = await startServer(() => {});
    await gone.close();
    const engine = engineAt(gone.baseUrl, server.baseUrl);
    t.after(() => engine.close());
    for (let i = 0; i < 4; i++) {
      assert.deepEqual((await engine.rerank({ query: 'a', documents: ['a'] }, never)).scores, [1]);
    }
  });

  it('gives way to another organization where one fills the queue', async (t) => {
    const { engine, close } = await startServerWithEngine(
      (baseUrl) => createUpstreamRerank({ ...optionsFor(baseUrl), maxRequests: FAIR_QUEUE_REQUESTS }),
      () => {},
    );
    t.after(close);
    await checkFairQueue((scope, signal) => engine.rerank({ query: 'a', documents: ['a'], scope }, signal));
  });

  it('aborts the request of a caller who disconnects', async (t) => {
    const { engine, server, judge } = await start(t, (request, response, count) =>
      count < 2 ? cohere()(request, response, count) : new Promise(() => {}),
    );
    await judge('a');
    const controller = new AbortController();
    const asked = assert.rejects(engine.rerank({ query: 'a', documents: ['a'] }, controller.signal), /left/);
    await until(() => server.running() > 0);
    controller.abort(new Error('left'));
    await asked;
    await server.left(1);
  });

  it('a disconnect during the probe does not cancel it for others', async (t) => {
    const { engine, judge } = await start(t, async (request, response, count) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      await cohere()(request, response, count);
    });
    const controller = new AbortController();
    const aborted = assert.rejects(engine.rerank({ query: 'a', documents: ['a'] }, controller.signal), /left/);
    const other = judge('a b');
    controller.abort(new Error('left'));
    await aborted;
    assert.deepEqual((await other).scores, [1]);
  });
});
