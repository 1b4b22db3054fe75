import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { FairSemaphore } from './fair-semaphore.ts';

const never = new AbortController().signal;
/** Guard: a semaphore that grants nothing fails the test instead of hanging it. */
const GUARD = { timeout: 10_000 };

/** Work with a permit that ends on demand; `entered` lists the names in the order of their permits. */
function atGate(gate: FairSemaphore) {
  const entered: string[] = [];
  const ends = new Map<string, () => void>();
  const come = (name: string, group: string, signal = never) =>
    gate.within(group, signal, async () => {
      entered.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      await promise;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { entered, come, end };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('FairSemaphore', () => {
  it('admits a later group beside one that has used its share', GUARD, async () => {
    const { entered, come } = atGate(new FairSemaphore({ total: 3, perGroup: 2 }));
    for (const name of ['a1', 'a2', 'a3']) void come(name, 'a');
    void come('b1', 'b');
    await settled();
    assert.deepEqual(entered, ['a1', 'a2', 'b1']);
  });

  it('grants permits to the group with the fewest, first come first served within a group', GUARD, async () => {
    const { entered, come, end } = atGate(new FairSemaphore({ total: 3, perGroup: 2 }));
    for (const name of ['a1', 'a2', 'a3', 'a4']) void come(name, 'a');
    for (const name of ['b1', 'b2', 'b3']) void come(name, 'b');
    await settled();
    assert.deepEqual(entered, ['a1', 'a2', 'b1']);
    await end('a1');
    assert.equal(entered.at(-1), 'a3');
    await end('b1');
    assert.equal(entered.at(-1), 'b2');
    await end('a2');
    assert.equal(entered.at(-1), 'a4');
  });

  it('prefers the group with fewer permits over an earlier waiter', GUARD, async () => {
    const { entered, come, end } = atGate(new FairSemaphore({ total: 4, perGroup: 3 }));
    for (const name of ['a1', 'a2', 'a3']) void come(name, 'a');
    void come('b1', 'b');
    void come('a4', 'a');
    void come('b2', 'b');
    await settled();
    await end('a1');
    assert.deepEqual(entered, ['a1', 'a2', 'a3', 'b1', 'b2']);
  });

  it('gives the only permit to each group in turn', GUARD, async () => {
    const { entered, come, end } = atGate(new FairSemaphore({ total: 1, perGroup: 1 }));
    for (const name of ['a1', 'a2', 'a3']) void come(name, 'a');
    for (const name of ['b1', 'c1']) void come(name, name.charAt(0));
    await settled();
    for (const name of ['a1', 'a2', 'b1', 'c1']) await end(name);
    assert.deepEqual(entered, ['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('removes aborted waiters, and releases the permit after an error', GUARD, async () => {
    const gate = new FairSemaphore({ total: 1, perGroup: 1 });
    const { entered, come, end } = atGate(gate);
    void come('a1', 'a');
    const leaving = new AbortController();
    const left = come('a2', 'a', leaving.signal);
    leaving.abort(new Error('gone'));
    await withDeadline('the end of the wait', assert.rejects(left, /gone/));
    await end('a1');
    const broken = gate.within('a', never, async () => {
      throw new Error('broken');
    });
    await withDeadline('a place for the next', assert.rejects(broken, /broken/));
    void come('a3', 'a');
    await settled();
    assert.deepEqual(entered, ['a1', 'a3']);
  });
});
