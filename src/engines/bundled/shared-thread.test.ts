import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type PortionedCall, SharedThread } from './shared-thread.ts';

/** Returns each portion with the number of its step, or ends for `exit`. */
const SCRIPT = `
  import { parentPort } from 'node:worker_threads';
  let step = 0;
  parentPort.on('message', (portions) => {
    if (portions.includes('exit')) process.exit(3);
    step += 1;
    parentPort.postMessage({ type: 'done', result: portions.map((portion) => ({ portion, step })) });
  });
  parentPort.postMessage({ type: 'loaded', loaded: 'loaded' });
`;
const never = new AbortController().signal;

type Result = { portion: string; step: number };

describe('SharedThread', () => {
  const threads: SharedThread<string, Result, string>[] = [];
  const start = (options: { stepCharacters?: number } = {}) => {
    const script = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);
    const thread = new SharedThread<string, Result, string>({
      name: 'test',
      script,
      data: () => ({}),
      timeoutMs: 10_000,
      maxCalls: 1_024,
      maxCharacters: 10_000_000,
      ...options,
    });
    threads.push(thread);
    return thread;
  };
  after(() => Promise.all(threads.map((thread) => thread.close())));

  /** A call of `count` portions, which logs each as it is taken. */
  function call(name: string, count: number, log: string[]): PortionedCall<string, Result, { name: string }> {
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

  describe('with several portions a step', () => {
    const STEP = 1_000;

    /** A call with these texts as portions. Its outcome is the step of each. */
    function textCall(texts: readonly string[]): PortionedCall<string, Result, { steps: number[] }> {
      const steps: number[] = [];
      let next = 0;
      return {
        characters: 1,
        get nextCost() {
          return texts[next]?.length ?? null;
        },
        portion: () => texts[next++] ?? '',
        take: ({ portion, step }) => {
          assert.equal(portion, texts[steps.length]);
          if (portion === 'bad') throw new RangeError(`text ${steps.length}`);
          return steps.push(step) === texts.length ? { steps } : null;
        },
      };
    }
    const run = async (thread: SharedThread<string, Result, string>, texts: readonly string[], scope = 'a') =>
      (await thread.run(textCall(texts), scope, never)).steps;

    it('sends portions up to the cost of a step, of all calls in turn', async () => {
      const thread = start({ stepCharacters: STEP });
      const long = Array<string>(6).fill('x'.repeat(250));
      // The first call is alone in the first step.
      const [first, second, third] = await Promise.all([run(thread, ['a']), run(thread, long), run(thread, long)]);
      assert.deepEqual(first, [1]);
      assert.deepEqual([second, third], Array(2).fill([2, 2, 3, 3, 4, 4]));
    });

    it('serves another organization and a short call in the next step, whatever is queued', async () => {
      const thread = start({ stepCharacters: STEP });
      const floods = Array.from({ length: 200 }, () => run(thread, Array<string>(4).fill('x'.repeat(400))));
      assert.deepEqual(await run(thread, ['a', 'b'], 'b'), [2, 2]);
      await Promise.all(floods);
    });

    it('gives a portion above the cost its own step, and bounds the portions of a step', async () => {
      const thread = start({ stepCharacters: STEP });
      assert.deepEqual(await run(thread, ['x'.repeat(5_000), 'b', 'c']), [1, 2, 2]);
      const tiny = await run(thread, Array<string>(25).fill('x'.repeat(100)));
      assert.deepEqual(tiny, [...Array(10).fill(3), ...Array(10).fill(4), ...Array(5).fill(5)]);
    });

    it('rejects a call with the error of its result, and no other call of the step', async () => {
      const thread = start({ stepCharacters: STEP });
      const settled = await Promise.allSettled([
        run(thread, ['a']),
        run(thread, ['b', 'bad', 'c']),
        run(thread, ['d']),
      ]);
      assert.match(String(settled[1]?.status === 'rejected' && settled[1].reason), /RangeError: text 1/);
      assert.equal(settled[2]?.status, 'fulfilled');
      assert.deepEqual(await run(thread, ['e']), [3]);
    });
  });
});
