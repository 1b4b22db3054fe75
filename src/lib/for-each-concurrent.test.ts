import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { forEachConcurrent, mapConcurrent } from './for-each-concurrent.ts';

const never = new AbortController().signal;

describe('forEachConcurrent', () => {
  it('runs every item, at most `limit` at a time, and reads no item ahead', async () => {
    let [read, ended, most] = [0, 0, 0];
    function* items() {
      for (let item = 0; item < 10; item += 1) {
        read += 1;
        yield item;
      }
    }
    await forEachConcurrent(items(), 3, async () => {
      most = Math.max(most, read - ended);
      await turn();
      ended += 1;
    });
    assert.deepEqual([read, ended, most], [10, 10, 3]);
  });

  it('runs nothing without items, or after an abort', async () => {
    const fail = async () => assert.fail('ran');
    await forEachConcurrent([], 3, fail, never);
    await forEachConcurrent([1], 3, fail, AbortSignal.abort());
  });

  it('throws the first error when running items have ended, which it aborts, and starts no other', async () => {
    const started: number[] = [];
    const ended: number[] = [];
    const run = async (item: number, signal: AbortSignal) => {
      started.push(item);
      if (item === 1) throw new Error('the second');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await turn();
      ended.push(item);
      throw new Error('a later one');
    };
    const failing = forEachConcurrent([0, 1, 2, 3, 4, 5], 4, run, never);
    await assert.rejects(failing, /the second/);
    assert.deepEqual(
      [started, ended],
      [
        [0, 1, 2, 3],
        [0, 2, 3],
      ],
    );
  });

  it('starts no item after an abort, and waits for running ones', async () => {
    const stop = new AbortController();
    const ended: number[] = [];
    const run = async (item: number) => {
      stop.abort();
      await turn();
      ended.push(item);
    };
    await forEachConcurrent([0, 1, 2], 2, run, stop.signal);
    assert.deepEqual(ended, [0]);
  });
});

describe('mapConcurrent', () => {
  it('returns results in the order of the items, at most `limit` at a time', async () => {
    let [running, most] = [0, 0];
    const work = async (item: number) => {
      running += 1;
      most = Math.max(most, running);
      for (let left = item; left < 10; left += 1) await turn();
      running -= 1;
      return 2 * item;
    };
    assert.deepEqual(await mapConcurrent([3, 9, 1, 8, 0], 3, work, never), [6, 18, 2, 16, 0]);
    assert.equal(most, 3);
  });

  it('throws the first error, or the reason of the signal', async () => {
    const fail = async () => {
      throw new Error('failed');
    };
    await assert.rejects(mapConcurrent([1, 2], 2, fail, never), /failed/);
    await assert.rejects(
      mapConcurrent([1], 2, async () => 1, AbortSignal.abort(new Error('stopped'))),
      /stopped/,
    );
  });
});
