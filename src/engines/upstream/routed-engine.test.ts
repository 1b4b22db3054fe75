import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import { finish, respondWithBody, respondWithStream, scripted } from '../../../test/fixtures/scripted-upstream.ts';
import { type Handler, sendEvents } from '../../../test/fixtures/upstream-server.ts';
import { scriptedEngine } from '../../../test/scripted-engine.ts';
import { ApiError } from '../../errors.ts';
import { createRoutedEngine, orderTargets, type RouteTarget } from './routed-engine.ts';

const never = new AbortController().signal;
const answer = (text: string) => respondWithStream(finish('stop', { content: text }), '[DONE]');
const request = chatRequest('Hi');
/** Engines on scripted servers: each a weight and how it answers. */
async function routed(t: TestContext, ...targets: [weight: number, handle: Handler][]) {
  const started = await Promise.all(targets.map(([, handle]) => scripted(t, handle)));
  const engine = createRoutedEngine(
    started.map((one, index) => ({ engine: one.engine, weight: targets[index]?.[0] ?? 0 })),
    () => 0.5,
  );
  t.after(() => engine.close());
  return { engine, posts: () => started.map((one) => one.posts().length) };
}
const textOf = async (engine: Parameters<typeof collectGeneration>[0]) =>
  (await collectGeneration(engine, request)).choices[0]?.text;

describe('an engine of several servers', () => {
  it('asks fallbacks in their order while no answer has begun, and only for 503', async (t) => {
    const failing = respondWithBody(503, { error: { message: 'loading' } });
    const { engine, posts } = await routed(t, [0, answer('last')], [0, answer('never')], [5, failing]);
    assert.equal(await textOf(engine), 'last');
    assert.deepEqual(posts().slice(0, 2), [1, 0]);
    const rejecting = respondWithBody(400, { error: { message: 'no', param: 'temperature' } });
    const other = await routed(t, [1, rejecting], [0, answer('never')]);
    await assert.rejects(collectGeneration(other.engine, request), (error: ApiError) => error.param === 'temperature');
    assert.deepEqual(other.posts(), [1, 0]);
  });

  it('an answer that has begun is not begun again', async (t) => {
    const breaking: Handler = (_request, response) => {
      sendEvents(response, [{ choices: [{ index: 0, delta: { content: 'half' } }] }]);
      setImmediate(() => response.destroy());
    };
    const { engine, posts } = await routed(t, [1, breaking], [0, answer('whole')]);
    const events = engine.generate(request, never);
    assert.equal((await events.next()).value?.type, 'prompt-end');
    await assert.rejects(Array.fromAsync(events), (error) => error instanceof ApiError && error.status === 503);
    assert.deepEqual(posts(), [1, 0]);
  });

  it('throws the error of the last target when all fail', async (t) => {
    const { engine } = await routed(
      t,
      [1, respondWithBody(503, {})],
      [0, respondWithBody(401, { error: { message: 'key' } })],
    );
    await assert.rejects(collectGeneration(engine, request), /rejects the API key/);
  });

  it('is unavailable when every target ends without an event', async () => {
    const silent = { ...scriptedEngine(), async *generate() {} };
    const engine = createRoutedEngine([
      { engine: silent, weight: 1 },
      { engine: silent, weight: 0 },
    ]);
    const events = engine.generate(request, never);
    await assert.rejects(
      events.next(),
      (error) => error instanceof ApiError && error.status === 503 && /before its first event/.test(error.message),
    );
  });

  it('a caller that leaves before the first event ends the request at the server', async (t) => {
    const arrived = Promise.withResolvers<void>();
    const { engine: target, server } = await scripted(t, () => arrived.resolve());
    const engine = createRoutedEngine([
      { engine: target, weight: 1 },
      { engine: scriptedEngine(), weight: 0 },
    ]);
    const events = engine.generate(request, never);
    const first = events.next();
    await arrived.promise;
    await events.return();
    assert.equal((await first).done, true);
    await server.left(1);
  });

  it('reports the smallest context, and is ready when one target is', async (t) => {
    const { engine: down } = await scripted(t, answer(''), { models: undefined });
    const engine = createRoutedEngine([
      { engine: down, weight: 1 },
      { engine: scriptedEngine(512), weight: 1 },
      { engine: scriptedEngine(4096), weight: 0 },
    ]);
    assert.deepEqual([engine.contextLength(), engine.backend().ready, engine.backend().model], [512, true, 'scripted']);
    await engine.check(never);
  });
});

describe('orderTargets', () => {
  const target = (weight: number, isHealthy = true): RouteTarget => ({
    weight,
    engine: { ...scriptedEngine(), servers: () => [{ url: '', isHealthy, inFlight: 0, lastError: null }] },
  });

  it('begins with each target in proportion to its weight, fallbacks last, in order', () => {
    const [three, one, first, second] = [target(3), target(1), target(0), target(0)];
    const all = [first, three, one, second];
    // A low-discrepancy sequence instead of chance: the fractional parts of multiples of two irrationals.
    let step = 0;
    const random = () => {
      step += 1;
      return (step * (step % 2 === 0 ? 0.754877666 : 0.569840291)) % 1;
    };
    const orders = Array.from({ length: 4000 }, () => orderTargets(all, random));
    const share = orders.filter(([head]) => head === three).length / orders.length;
    assert.ok(share > 0.7 && share < 0.8, String(share));
    for (const order of orders) assert.deepEqual(order.slice(2), [first, second]);
  });

  it('targets without a healthy server come last, and keep their order', () => {
    const [down, fallback, downFallback] = [target(5, false), target(0), target(0, false)];
    assert.deepEqual(
      orderTargets([downFallback, down, fallback], () => 0.5),
      [fallback, down, downFallback],
    );
  });
});
