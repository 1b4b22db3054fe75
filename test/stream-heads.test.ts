/**
 * When the streams of chat and text completions begin, and what a failure is before and after. Read with OpenAI's
 * client.
 */
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import OpenAI from 'openai';
import { engineUnavailable } from '../src/errors.ts';
import { withDeadline } from './deadline.ts';
import { useApi } from './harness.ts';
import { words } from './scripted-engine.ts';

const api = useApi();
const client = () => new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });

type Opened = Promise<AsyncIterable<unknown>> & {
  withResponse(): Promise<{ data: AsyncIterable<unknown>; response: Response }>;
};

/** How each route is called. */
const ROUTES: Record<string, () => Opened> = {
  'POST /v1/chat/completions': () =>
    client().chat.completions.create({
      model: 'general-8b',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    }),
  'POST /v1/completions': () =>
    client().completions.create({ model: 'general-8b', prompt: ['Hi', 'Ho'], stream: true }),
};

/** A model that waits before it has processed the prompt, and once more before its first token. */
function play(cachedTokens: number | null) {
  const gates = { prompt: Promise.withResolvers<Error | null>(), token: Promise.withResolvers<Error | null>() };
  api.engine.calls.length = 0;
  api.engine.play(async function* () {
    const early = await gates.prompt.promise;
    if (early !== null) throw early;
    yield { type: 'prompt-end', promptTokens: 5, cachedTokens };
    const late = await gates.token.promise;
    if (late !== null) throw late;
    yield* words('Yes.').slice(1);
  });
  return gates;
}

/** Advances the clock by 10 s whenever the service waits, until `head` has come. */
async function passTimeUntil<T>(head: Promise<T>): Promise<T> {
  let isHere = false;
  const arrived = head.finally(() => {
    isHere = true;
  });
  while (!isHere) {
    await nextTurn();
    if (api.engine.calls.length > 0) mock.timers.tick(10_000);
  }
  return arrived;
}

const away = engineUnavailable('The model is "away".', 1);
const count = async (stream: AsyncIterable<unknown>) => (await Array.fromAsync(stream)).length;

for (const [route, open] of Object.entries(ROUTES)) {
  describe(`the stream of ${route}`, () => {
    it('begins when the cache result is known, before the first token', async () => {
      for (const [cachedTokens, status] of [
        [4, 'HIT'],
        [0, 'MISS'],
        [null, 'MISS'],
      ] as const) {
        const { prompt, token } = play(cachedTokens);
        prompt.resolve(null);
        const { data, response } = await withDeadline('the head', open().withResponse());
        assert.equal(response.headers.get('x-cache-status'), status);
        token.resolve(null);
        assert.ok((await count(data)) > 1);
      }
    });

    it('an error before is a status, and one after is the error event', async () => {
      const early = play(0);
      early.prompt.resolve(away);
      await assert.rejects(open(), { status: 503, code: 'engine_unavailable' });
      const late = play(0);
      late.prompt.resolve(null);
      const stream = await open();
      late.token.resolve(away);
      await assert.rejects(count(stream), { status: undefined, code: 'engine_unavailable' });
    });

    it('begins after 10 s at the latest; an error after that is the error event', async () => {
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        for (const error of [null, away]) {
          const { prompt, token } = play(4);
          const { data, response } = await passTimeUntil(open().withResponse());
          assert.equal(response.headers.get('x-cache-status'), 'MISS');
          prompt.resolve(error);
          token.resolve(null);
          if (error === null) assert.ok((await count(data)) > 1);
          else await assert.rejects(count(data), { status: undefined, code: 'engine_unavailable' });
        }
      } finally {
        mock.timers.reset();
      }
    });
  });
}
