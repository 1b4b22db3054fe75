import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type PortionedCall, SharedThread } from './shared-thread.ts';

/** Returns each portion, or ends for `exit`. */
const SCRIPT = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (portion) => {
    if (portion === 'exit') process.exit(3);
    parentPort.postMessage({ type: 'done', result: portion });
  });
  parentPort.postMessage({ type: 'loaded', loaded: 'loaded' });
`;
const never = new AbortController().signal;

describe('SharedThread', () => {
  const threads: SharedThread<string, string, string>[] = [];
  const start = (maxCalls = 1_024) => {
    const script = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);
    const thread = new SharedThread<string, string, string>({
      name: 'test',
      script,
      data: () => ({}),
      timeoutMs: 10_000,
      maxCalls,
      maxCharacters: 1_000_000,
    });
    threads.push(thread);
    return thread;
  };
  after(() => Promise.all(threads.map((thread) => thread.close())));

  /** A call of `count` portions, which logs each as it is taken. */
  function call(name: string, count: number, log: string[]): PortionedCall<string, string, { name: string }> {
    let next = 0;
    return {
      characters: 1,
      portion: () => {
        log.push(name);
        next += 1;
        return name;
      },
      take: () => (next === count ? { name } : null),
    };
  }

  it('gives organizations turns, however many calls one has, and then the calls of each', async () => {
    const thread = start();
    const log: string[] = [];
    const flood = Array.from({ length: 300 }, (_, i) => thread.run(call(`a${i}`, 3, log), 'a', never));
    const short = await thread.run(call('b', 2, log), 'b', never);
    assert.equal(short.name, 'b');
    assert.deepEqual(log.slice(0, 5), ['a0', 'a1', 'b', 'a2', 'b']);
    await Promise.all(flood);
    assert.equal(log.length, 902);
    // Each call of an organization gets its first portion before one gets its second.
    assert.equal(new Set(log.slice(0, 302)).size, 301);
  });

  it('a caller that leaves is not served again, while its portion is computed and while it waits', async () => {
    const thread = start();
    const log: string[] = [];
    const leaving = [new AbortController(), new AbortController()];
    const left = leaving.map(({ signal }, i) =>
      assert.rejects(thread.run(call(`a${i}`, 100, log), 'a', signal), /left/),
    );
    for (const controller of leaving) controller.abort(new Error('left'));
    await Promise.all(left);
    await thread.run(call('b', 1, log), 'b', never);
    assert.deepEqual(log, ['a0', 'b']);
  });

  it('503 for the call whose portion ends the thread, and for no other', async () => {
    const thread = start();
    const log: string[] = [];
    const [ended, other] = await Promise.allSettled([
      thread.run(call('exit', 1, log), 'a', never),
      thread.run(call('b', 2, log), 'b', never),
    ]);
    assert.deepEqual([ended?.status, other?.status], ['rejected', 'fulfilled']);
    assert.equal(ended?.status === 'rejected' && ended.reason.status, 503);
  });

  it('503 for running, queued and later calls once it is closed', async () => {
    const thread = start();
    const isUnavailable = { status: 503, code: 'engine_unavailable' };
    const run = (scope: string) => assert.rejects(thread.run(call(scope, 1_000_000, []), scope, never), isUnavailable);
    const calls = ['a', 'b', 'c'].map(run);
    await thread.close();
    await Promise.all([...calls, run('d')]);
  });
});
