import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { GroupCommit, type GroupCommitPolicy } from './group-commit.ts';

/** A group commit of words, ten letters a group, whose writes wait until `release` is called for each. */
function setUp(policy: Partial<GroupCommitPolicy<string>> = {}) {
  const written: string[][] = [];
  const failed: [string[], unknown][] = [];
  const inFlight: PromiseWithResolvers<void>[] = [];
  const commit = new GroupCommit<string>({
    write: (items) => {
      written.push([...items]);
      const gate = Promise.withResolvers<void>();
      inFlight.push(gate);
      return gate.promise;
    },
    weight: ({ length }) => length,
    maxWeight: 10,
    delayMs: 0,
    stopsOnFailure: false,
    onFailure: (items, error) => failed.push([[...items], error]),
    ...policy,
  });
  const end = (error?: unknown) => {
    const gate = inFlight.shift();
    assert.ok(gate, 'a write is in flight');
    return error === undefined ? gate.resolve() : gate.reject(error);
  };
  return { commit, written, failed, inFlight, end };
}

/** Two event-loop turns: enough for every write that may start. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
}

/** Follows whether a promise has settled. */
function watch(promise: Promise<void>): { state: string } {
  const watched = { state: 'pending' };
  promise.then(
    () => Object.assign(watched, { state: 'fulfilled' }),
    (error: unknown) => Object.assign(watched, { state: `rejected: ${error}` }),
  );
  return watched;
}

describe('GroupCommit', () => {
  it('writes the items of one event-loop turn together, in order', async () => {
    const { commit, written, end } = setUp();
    const added = ['a', '', 'a', '\u{1f600}'].map((item) => watch(commit.add(item)));
    assert.deepEqual(written, [], 'later items of this turn share the write');
    await turns();
    assert.deepEqual(written, [['a', '', 'a', '\u{1f600}']]);
    assert.deepEqual(new Set(added.map(({ state }) => state)), new Set(['pending']));
    end();
    await turns();
    assert.deepEqual(new Set(added.map(({ state }) => state)), new Set(['fulfilled']));
  });

  it('writes one group at a time, and collects meanwhile', async () => {
    const { commit, written, inFlight, end } = setUp();
    void commit.add('first');
    await turns();
    for (const item of ['second', 'third']) {
      void commit.add(item);
      await turns();
    }
    assert.deepEqual([written, inFlight.length], [[['first']], 1]);
    end();
    await turns();
    assert.deepEqual(written, [['first'], ['second', 'third']]);
    end();
    await commit.flush();
  });

  it('writes a full group at once; items beyond it belong to the next one', async () => {
    const { commit, written, end } = setUp({ delayMs: 60_000 });
    void commit.add('four');
    void commit.add('letters, more than ten');
    assert.deepEqual(written, [['four', 'letters, more than ten']]);
    const next = watch(commit.add('next'));
    end();
    await turns();
    assert.deepEqual([written.length, next.state], [1, 'pending'], 'the next group is not full');
    const flushed = commit.flush();
    assert.deepEqual(written.at(-1), ['next']);
    end();
    await flushed;
    assert.equal(next.state, 'fulfilled');
  });

  it('weighs an item 1 by default', () => {
    const written: string[][] = [];
    const write = async (items: readonly string[]) => void written.push([...items]);
    const commit = new GroupCommit<string>({ write, maxWeight: 2, delayMs: 0, stopsOnFailure: false });
    for (const item of ['long enough for ten', 'b', 'c']) void commit.add(item);
    assert.deepEqual(written, [['long enough for ten', 'b']]);
  });

  it('writes a group when its first item has waited for the delay', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { commit, written, end } = setUp({ delayMs: 100 });
    void commit.add('a');
    t.mock.timers.tick(99);
    void commit.add('b');
    assert.deepEqual(written, []);
    t.mock.timers.tick(1);
    assert.deepEqual(written, [['a', 'b']]);
    void commit.add('c');
    t.mock.timers.tick(100);
    assert.equal(written.length, 1, 'one write at a time');
    end();
    await turns();
    assert.deepEqual(written.at(-1), ['c'], 'its delay has passed');
  });

  it('applies back pressure while a full group waits, and no longer', async () => {
    const { commit, written, end } = setUp();
    await commit.addWithBackpressure('ten letters');
    await commit.addWithBackpressure('nine char');
    const waiting = ['ten', 'more'].map((item) => watch(commit.addWithBackpressure(item)));
    await turns();
    assert.deepEqual([written.length, ...waiting.map(({ state }) => state)], [1, 'pending', 'pending']);
    end();
    await turns();
    assert.deepEqual(
      waiting.map(({ state }) => state),
      ['fulfilled', 'fulfilled'],
    );
    assert.deepEqual(written, [['ten letters'], ['nine char', 'ten']]);
  });

  it('fails exactly the items of a failed write', async () => {
    const { commit, written, failed, end } = setUp();
    const items = ['ten letters', 'other ten letters', 'third ten letters'].map((item) => watch(commit.add(item)));
    end();
    await turns();
    end('disk full');
    await turns();
    end();
    await turns();
    assert.deepEqual(
      items.map(({ state }) => state),
      ['fulfilled', 'rejected: disk full', 'fulfilled'],
    );
    assert.deepEqual(failed, [[['other ten letters'], 'disk full']]);
    assert.equal(written.length, 3);
    await commit.flush();
  });

  it('writes nothing after a failure with stopsOnFailure', async () => {
    const { commit, written, failed, end } = setUp({ stopsOnFailure: true });
    const items = ['ten letters', 'waiting'].map((item) => watch(commit.add(item)));
    end('first error');
    await turns();
    await assert.rejects(commit.addWithBackpressure('later'), (error) => error === 'first error');
    await assert.rejects(commit.flush(), (error) => error === 'first error');
    assert.deepEqual(
      items.map(({ state }) => state),
      ['rejected: first error', 'rejected: first error'],
    );
    assert.deepEqual(
      failed.flatMap(([group]) => group),
      ['ten letters', 'waiting', 'later'],
    );
    assert.equal(written.length, 1);
  });

  it('reports a write that throws before it returns a promise', async () => {
    const { commit } = setUp({
      write: () => {
        throw new Error('invalid item');
      },
    });
    await assert.rejects(commit.add('ten letters'), /invalid item/);
  });

  it('flush resolves when everything is written, also items added meanwhile', async () => {
    const { commit, written, end } = setUp({ delayMs: 60_000 });
    await commit.flush();
    void commit.add('a');
    const flushed = watch(commit.flush());
    void commit.add('b');
    end();
    await turns();
    const flushedAgain = watch(commit.flush());
    await turns();
    assert.deepEqual([written, flushed.state, flushedAgain.state], [[['a'], ['b']], 'pending', 'pending']);
    end();
    await turns();
    assert.equal(flushed.state, 'fulfilled');
  });

  it('close waits for the write in flight, and writes nothing more', async () => {
    const { commit, written, failed, end } = setUp();
    const inFlight = watch(commit.add('ten letters'));
    const waiting = watch(commit.add('waiting'));
    const closed = watch(commit.close('the process stops'));
    await turns();
    assert.deepEqual([inFlight.state, closed.state], ['pending', 'pending']);
    end();
    await turns();
    await commit.close('again');
    await assert.rejects(commit.add('later'), (error) => error === 'the process stops');
    assert.deepEqual(
      [inFlight.state, waiting.state, closed.state],
      ['fulfilled', 'rejected: the process stops', 'fulfilled'],
    );
    assert.deepEqual([written.length, failed.length], [1, 2]);
  });
});
