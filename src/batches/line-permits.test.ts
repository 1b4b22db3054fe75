import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLinePermits } from './line-permits.ts';

const MB = 1024 * 1024;
const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Lines that run until they are ended. `running` lists their names in the order of their starts. */
function atPermits(total: number) {
  const permits = createLinePermits(total);
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const start = async (name: string, weightMb: number, signal = never) => {
    const group = name.slice(0, 1);
    const work = async () => {
      running.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      await promise;
      running.splice(running.indexOf(name), 1);
    };
    const line = permits.within(group, signal, work, weightMb * MB);
    line.catch(() => {});
    await settled();
    return line;
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { running, start, end };
}

describe('permits of batch lines', () => {
  it('leave an eighth of the lines to other organizations', async () => {
    const { running, start } = atPermits(16);
    for (let i = 1; i <= 20; i += 1) void start(`a${i}`, 0.1);
    await settled();
    assert.equal(running.length, 14);
    for (const name of ['b1', 'b2', 'b3']) void start(name, 0.1);
    await settled();
    assert.deepEqual(running.slice(14), ['b1', 'b2']);
  });

  it('few permits are all used by one organization, and go to another one next', async () => {
    const { running, start, end } = atPermits(4);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1']) void start(name, 1);
    await settled();
    assert.deepEqual(running, ['a1', 'a2', 'a3', 'a4']);
    await end('a2');
    assert.deepEqual(running, ['a1', 'a3', 'a4', 'b1']);
  });

  it('leave memory for lines of others beside heavy ones', async () => {
    const { running, start, end } = atPermits(16);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void start(name, 16);
    void start('b1', 20);
    await settled();
    assert.deepEqual(running, ['a1', 'a2', 'b1']);
    await end('a1');
    assert.deepEqual(running, ['a2', 'b1', 'a3']);
    await end('b1');
    assert.deepEqual(running, ['a2', 'a3']);
    for (const name of ['a2', 'a3', 'a4', 'a5']) await end(name);
    assert.deepEqual(running, []);
  });

  it('give memory to the organization with the least first', async () => {
    const { running, start } = atPermits(16);
    for (const [name, weightMb] of Object.entries({ c1: 30, a1: 30, a2: 10, b1: 2 })) void start(name, weightMb);
    await settled();
    assert.deepEqual(running, ['c1', 'a1', 'b1']);
  });

  it('give memory to the organization with the least, of two with as many lines', async () => {
    const { running, start, end } = atPermits(16);
    for (const [name, weightMb] of Object.entries({ c1: 30, a1: 20, b1: 5, a2: 10, b2: 10 }))
      void start(name, weightMb);
    await settled();
    assert.deepEqual(running, ['c1', 'a1', 'b1']);
    await end('c1');
    assert.deepEqual(running, ['a1', 'b1', 'b2', 'a2']);
  });

  it('run a line heavier than all memory alone, and let no line overtake it', async () => {
    const { running, start, end } = atPermits(16);
    void start('a1', 10);
    void start('b1', 100);
    void start('a2', 1);
    await settled();
    assert.deepEqual(running, ['a1']);
    await end('a1');
    assert.deepEqual(running, ['b1']);
    await end('b1');
    assert.deepEqual(running, ['a2']);
  });

  it('bound the lines of one organization, in order, and nothing runs beside a heavier line', async () => {
    const { running, start, end } = atPermits(8);
    for (const [name, weightMb] of Object.entries({ a1: 40, a2: 40, a3: 100, a4: 1 })) void start(name, weightMb);
    await settled();
    for (const name of ['a1', 'a2', 'a3', 'a4']) {
      assert.deepEqual(running, [name]);
      await end(name);
    }
  });

  it('are granted to others when a heavy line that waits is aborted', async () => {
    const { running, start } = atPermits(8);
    const leaving = new AbortController();
    void start('a1', 10);
    const heavy = start('b1', 100, leaving.signal);
    void start('c1', 1);
    await settled();
    assert.deepEqual(running, ['a1']);
    leaving.abort(new Error('left'));
    await assert.rejects(heavy, /left/);
    assert.deepEqual(running, ['a1', 'c1']);
  });

  it('are returned by lines that fail or are aborted while they wait', async () => {
    const { running, start, end } = atPermits(1);
    const controller = new AbortController();
    void start('a1', 64);
    const left = await Promise.allSettled([start('b1', 1, AbortSignal.abort(new Error('left')))]);
    assert.equal(left[0]?.status, 'rejected');
    const waiting = start('c1', 64, controller.signal);
    controller.abort(new Error('stopped'));
    await assert.rejects(waiting, /stopped/);
    await end('a1');
    void start('b2', 64);
    await settled();
    assert.deepEqual(running, ['b2']);
  });
});
