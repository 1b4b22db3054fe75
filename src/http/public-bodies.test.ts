import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../errors.ts';
import { PUBLIC_BODY_MS, PublicBodies } from './public-bodies.ts';

const isTooMany = (error: unknown) =>
  error instanceof ApiError && error.status === 503 && error.retryAfterSeconds === 2;

const open = (bodies: PublicBodies, network: string, count: number) =>
  Array.from({ length: count }, () => bodies.open(network));

const rejected = (all: readonly { signal?: AbortSignal }[]) => all.map(({ signal }) => signal?.aborted === true);

describe('bodies without a key', () => {
  it('in a network with too many, the oldest that is still arriving gives way', () => {
    const bodies = new PublicBodies();
    const slow = open(bodies, 'a', 32);
    slow[0]?.arrived?.();
    bodies.open('a');
    assert.deepEqual(rejected(slow.slice(0, 3)), [false, true, false]);
    assert.ok(isTooMany(slow[1]?.signal?.reason));
    bodies.open('b');
    assert.deepEqual(
      rejected(slow.slice(2)),
      slow.slice(2).map(() => false),
    );
  });

  it('503 for a network whose requests are all being answered; others are admitted', () => {
    const bodies = new PublicBodies();
    const running = open(bodies, 'a', 32);
    for (const body of running) body.arrived?.();
    assert.throws(() => bodies.open('a'), isTooMany);
    bodies.open('b');
    running[0]?.release();
    running[0]?.release();
    bodies.open('a').arrived?.();
    assert.throws(() => bodies.open('a'), isTooMany);
  });

  it('with too many altogether, the network with the most arriving ones gives way', () => {
    const bodies = new PublicBodies();
    const single = bodies.open('single');
    const slow = Array.from({ length: 10 }, (_, at) => open(bodies, `slow ${at}`, 25));
    const worst = open(bodies, 'worst', 5);
    bodies.open('new');
    assert.deepEqual(rejected([single, ...worst]), [false, false, false, false, false, false]);
    assert.deepEqual(rejected(slow.map(([first]) => first ?? {})), [true, ...Array(9).fill(false)]);
    for (const body of slow.flat()) body.arrived?.();
    bodies.open('new');
    assert.deepEqual(rejected([single, ...worst]), [false, true, false, false, false, false]);
  });

  it('503 when nothing can give way', () => {
    const bodies = new PublicBodies();
    for (let at = 0; at < 8; at += 1) for (const body of open(bodies, `network ${at}`, 32)) body.arrived?.();
    assert.throws(() => bodies.open('new'), isTooMany);
  });

  it('408 for a body that has not arrived in time, and only for such a body', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const bodies = new PublicBodies();
    const [slow, arrived, released] = open(bodies, 'a', 3);
    arrived?.arrived?.();
    released?.release();
    t.mock.timers.tick(PUBLIC_BODY_MS - 1);
    assert.equal(slow?.signal?.aborted, false);
    t.mock.timers.tick(1);
    assert.deepEqual(rejected([slow ?? {}, arrived ?? {}, released ?? {}]), [true, false, false]);
    assert.ok(slow?.signal?.reason instanceof ApiError && slow.signal.reason.code === 'request_timeout');
    assert.equal(PUBLIC_BODY_MS, 10_000);
  });
});
