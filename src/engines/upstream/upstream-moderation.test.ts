import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { BUNDLED_MODELS, Moderator } from '@quire/bundled-models';
import { until } from '../../../test/deadline.ts';
import { type Handler, sendJson, startServer, startServerWithEngine } from '../../../test/fixtures/upstream-server.ts';
import { moderationConformance } from '../../../test/moderation-conformance.ts';
import { ApiError } from '../../errors.ts';
import { createLogger } from '../../lib/logger.ts';
import { createUpstreamModeration } from './upstream-moderation.ts';

const WEIGHTS = readFileSync(BUNDLED_MODELS.moderation.file);
const never = new AbortController().signal;

const engineAt = (...baseUrls: string[]) =>
  createUpstreamModeration({
    baseUrls,
    model: 'judge-1',
    apiKey: 'secret',
    proxy: null,
    timeouts: { retrySeconds: 0.01 },
    logger: createLogger('silent'),
  });

/** An OpenAI-style response with these scores for each text. */
const answered = (...scores: object[]) => ({ results: scores.map((each) => ({ category_scores: each })) });

moderationConformance('a server of the OpenAI kind', async () => {
  const moderator = new Moderator(WEIGHTS);
  const names = moderator.header.categories.map((category) => category.replace('_', '-'));
  return startServerWithEngine(engineAt, ({ body }, response) => {
    const scores = ((body?.['input'] ?? []) as string[]).map((text) =>
      Object.fromEntries(moderator.classify(text).scores.map((score, i) => [names[i], score])),
    );
    sendJson(response, 200, answered(...scores));
  });
});

describe('an upstream moderation engine', () => {
  async function start(t: TestContext, handle: Handler) {
    const { engine, server, close } = await startServerWithEngine(engineAt, handle);
    t.after(close);
    const posts = () => server.requests.filter(({ method }) => method === 'POST');
    return { engine, server, posts };
  }
  const rejectedAttempt = (engine: ReturnType<typeof engineAt>, status: number, code: string) =>
    assert.rejects(
      engine.moderate(['a'], never),
      (error) => error instanceof ApiError && error.status === status && error.code === code,
    );

  it('sends model, texts and key, and reads parts of categories, other spellings and the usage', async (t) => {
    const { engine, posts } = await start(t, (_request, response) =>
      sendJson(response, 200, {
        ...answered({ hate: 0.1, 'hate/threatening': 0.7, 'self-harm': 0.3, 'self-harm/intent': 0.2, illicit: 0.9 }),
        usage: { prompt_tokens: 12 },
      }),
    );
    const { scores, tokens } = await engine.moderate(['some text'], never);
    assert.deepEqual(scores, [{ harassment: 0, hate: 0.7, self_harm: 0.3, sexual: 0, violence: 0 }]);
    assert.equal(tokens, 12);
    const [post] = posts();
    assert.equal(post?.path, '/v1/moderations');
    assert.equal(post?.headers.authorization, 'Bearer secret');
    assert.deepEqual(post?.body, { model: 'judge-1', input: ['some text'] });
  });

  it('503 for an invalid response, without a retry', async (t) => {
    const wrong = [
      {},
      { results: 'none' },
      answered(),
      answered({ hate: 0.1 }, { hate: 0.1 }),
      answered({ other: 1 }),
      answered({ hate: 'much' }),
      { results: [{}] },
      [],
    ];
    const { engine, posts } = await start(t, (_request, response, count) => sendJson(response, 200, wrong[count]));
    for (const _ of wrong) await rejectedAttempt(engine, 503, 'engine_unavailable');
    assert.equal(posts().length, wrong.length);
  });

  it('retries while the server is not ready, and passes on its errors', async (t) => {
    const { engine, posts } = await start(t, (_request, response, count) => {
      if (count === 0) sendJson(response, 503, { error: { message: 'loading' } });
      else if (count === 1) sendJson(response, 200, answered({ violence: 0.4 }));
      else
        sendJson(response, 400, { error: { message: 'maximum input length is 10 tokens, given: 20', param: 'input' } });
    });
    assert.equal((await engine.moderate(['a'], never)).scores[0]?.violence, 0.4);
    await assert.rejects(
      engine.moderate(['a'], never),
      (error) => error instanceof ApiError && error.status === 400 && error.param === 'input',
    );
    assert.equal(posts().length, 3);
  });

  it('fails over to another server', async (t) => {
    const { server } = await start(t, (_request, response) => sendJson(response, 200, answered({ hate: 0.2 })));
    const gone = await startServer(() => {});
    await gone.close();
    const engine = engineAt(gone.baseUrl, server.baseUrl);
    t.after(() => engine.close());
    for (let i = 0; i < 4; i++) assert.equal((await engine.moderate(['a'], never)).scores[0]?.hate, 0.2);
  });

  it('aborts the request of a caller who disconnects', async (t) => {
    const { engine, server } = await start(t, () => new Promise(() => {}));
    const controller = new AbortController();
    const asked = assert.rejects(engine.moderate(['a'], controller.signal), /left/);
    await until(() => server.running() > 0);
    controller.abort(new Error('left'));
    await asked;
    await server.left(1);
  });
});
