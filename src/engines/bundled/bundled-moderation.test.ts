import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BUNDLED_MODELS, Moderator } from '@quire/bundled-models';
import { watchEventLoop } from '../../../test/event-loop.ts';
import { checkFairQueue, checkFairTurns, FAIR_QUEUE_REQUESTS } from '../../../test/fair-queue.ts';
import { moderationConformance } from '../../../test/moderation-conformance.ts';
import { ApiError } from '../../errors.ts';
import type { ModerationEngine } from '../moderation-engine.ts';
import { createBundledModeration } from './bundled-moderation.ts';

const FILE = BUNDLED_MODELS.moderation.file;
const SENTENCE = 'The members of the committee agreed on most points of the plan. ';
const never = new AbortController().signal;

moderationConformance('the model that comes with Quire', async () => {
  const engine = createBundledModeration(BUNDLED_MODELS.moderation);
  return { engine, close: () => engine.close() };
});

describe('the bundled moderation engine', () => {
  const engines: ModerationEngine[] = [];
  const start = (options: { file?: string; maxCalls?: number } = {}) => {
    const engine = createBundledModeration({ file: FILE, name: 'test', ...options });
    engines.push(engine);
    return engine;
  };
  after(() => Promise.all(engines.map((engine) => engine.close())));

  it('returns the scores and tokens of Moderator', async () => {
    const moderator = new Moderator(readFileSync(FILE));
    const texts = ['You are a pathetic, worthless idiot.', '', SENTENCE.repeat(100)];
    const { scores, tokens } = await start().moderate(texts, never);
    const expected = texts.map((text) => moderator.classify(text));
    assert.deepEqual(
      scores.map(({ harassment, hate, self_harm, sexual, violence }) => [
        harassment,
        hate,
        self_harm,
        sexual,
        violence,
      ]),
      expected.map((each) => each.scores),
    );
    assert.equal(
      tokens,
      expected.reduce((sum, each) => sum + each.tokens, 0),
    );
  });

  it('loads the model at the first call and reports it as ready', async () => {
    const engine = start();
    assert.deepEqual(engine.backend(), { engine: 'bundled', model: 'test', parameters: null, ready: false });
    await engine.moderate(['a'], never);
    assert.equal(engine.backend().ready, true);
    assert.ok((engine.backend().parameters ?? 0) > 1_000_000);
  });

  it('answers a short call while a long one runs, without blocking the event loop', async () => {
    const engine = start();
    await engine.check(never);
    const order: string[] = [];
    const loop = watchEventLoop();
    const long = engine.moderate([SENTENCE.repeat(120_000)], never).then(() => order.push('long'));
    const short = engine.moderate([SENTENCE], never).then(() => order.push('short'));
    await Promise.all([long, short]);
    const longest = loop.longestMs();
    assert.deepEqual(order, ['short', 'long']);
    assert.ok(longest < 100, `the event loop was kept busy for ${longest} ms`);
  });

  it('returns how long a call waited for another one', async () => {
    const engine = start();
    await engine.check(never);
    const [first, second] = await Promise.all([
      engine.moderate([SENTENCE.repeat(400)], never),
      engine.moderate([SENTENCE], never),
    ]);
    assert.ok((first.queueMs ?? 0) < (second.queueMs ?? 0), `${first.queueMs} and ${second.queueMs} ms`);
  });

  it('503 when the queue is full; aborted calls do not count', async () => {
    const engine = start({ maxCalls: 2 });
    const controllers = Array.from({ length: 2 }, () => new AbortController());
    const long = SENTENCE.repeat(20_000);
    const calls = controllers.map(({ signal }) => assert.rejects(engine.moderate([long], signal), /left/));
    await assert.rejects(
      engine.moderate(['a'], never),
      (error) => error instanceof ApiError && error.code === 'engine_unavailable' && error.retryAfterSeconds === 1,
    );
    for (const controller of controllers) controller.abort(new Error('left'));
    await Promise.all(calls);
    assert.equal((await engine.moderate(['a'], never)).scores.length, 1);
  });

  it('admits another organization when one fills the queue', async () => {
    const engine = start({ maxCalls: FAIR_QUEUE_REQUESTS });
    const texts = Array<string>(100).fill('a word '.repeat(10_000));
    await checkFairQueue((scope, signal) => engine.moderate(texts, signal, scope));
  });

  it('serves another organization after few calls of one that floods it', async () => {
    const engine = start();
    await checkFairTurns((scope) => engine.moderate([SENTENCE.repeat(400)], never, scope));
  });

  it('reports why weights cannot be loaded, and loads them once they can be', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-moderation-'));
    try {
      const file = join(folder, 'weights.bin');
      writeFileSync(file, 'no weights at all');
      const engine = start({ file });
      await assert.rejects(engine.check(never), /not a moderation model/);
      await assert.rejects(
        engine.moderate(['a'], never),
        (error) => error instanceof ApiError && error.status === 503 && /moderation model/.test(String(error.cause)),
      );
      writeFileSync(file, readFileSync(FILE));
      await engine.check(never);
      assert.equal((await engine.moderate(['a'], never)).scores.length, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
