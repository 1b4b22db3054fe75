import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EmbeddingQueue, QueuedCall, type Step } from './embedding-queue.ts';

const LONG = 'x'.repeat(8_000);
const tooLong = (index: number) => new RangeError(`text ${index}`);

function queueOf(...calls: (readonly string[])[]) {
  const queue = new EmbeddingQueue();
  const queued = calls.map((texts) => new QueuedCall({ texts, limit: 10, vectors: true, scope: 'a' }, tooLong));
  for (const call of queued) queue.add(call);
  return { queue, queued };
}

/** Takes a step as if every text had a token. */
function done(queue: EmbeddingQueue, step: Step | null): void {
  for (const [i, call] of (step?.calls ?? []).entries()) {
    const count = step?.portions[i]?.texts.length ?? 0;
    const result = { tokens: Array(count).fill(1), vectors: new Float32Array(1024 * count) };
    if (call.take(result)) queue.remove(call);
  }
}

describe('the queue of texts to embed', () => {
  it('puts short texts of several calls into one step', () => {
    const { queue, queued } = queueOf(['a', 'b'], ['c'], ['d', 'e', 'f']);
    const step = queue.step();
    assert.deepEqual(step?.calls, queued);
    assert.deepEqual(
      step?.portions.map(({ texts }) => texts),
      [['a', 'b'], ['c'], ['d', 'e', 'f']],
    );
    assert.equal(queue.step(), null);
  });

  it('lets a short call by within the next step, however long the one before it is', () => {
    const { queue } = queueOf(Array(2048).fill(LONG));
    const first = queue.step();
    assert.ok((first?.portions[0]?.texts.length ?? 0) <= 4);
    const short = new QueuedCall({ texts: ['a'], limit: 10, vectors: true, scope: 'a' }, tooLong);
    queue.add(short);
    assert.ok(queue.step()?.calls.includes(short));
  });

  it('gives calls of long texts a turn each', () => {
    const { queue, queued } = queueOf(Array(6).fill(LONG), Array(6).fill(LONG));
    for (let step = queue.step(); step !== null; step = queue.step()) {
      assert.deepEqual(
        step.portions.map(({ texts }) => texts.length),
        [2, 2],
      );
    }
    assert.deepEqual(
      queued.map(({ left }) => left),
      [0, 0],
    );
  });

  it('takes a text that is longer than a step alone, and bounds the texts of a step however short they are', () => {
    const { queue } = queueOf(['x'.repeat(1_000_000), 'b'], ['c']);
    assert.deepEqual(
      queue.step()?.portions.map(({ texts }) => texts.length),
      [1],
    );
    const tiny = queueOf(Array(2048).fill('a'));
    assert.ok((tiny.queue.step()?.portions[0]?.texts.length ?? 0) <= 256);
  });

  it('hands out nothing of a call that was removed', () => {
    const { queue, queued } = queueOf(['a'], ['b']);
    queue.remove(queued[0]!);
    assert.deepEqual(queue.step()?.calls, [queued[1]]);
  });

  it('gives a call its vectors in the order of its texts, over several steps', async () => {
    const { queue, queued } = queueOf(Array(20).fill(LONG));
    let steps = 0;
    for (let step = queue.step(); step !== null; step = queue.step(), steps++) done(queue, step);
    assert.ok(steps > 1);
    const { vectors, tokens } = await queued[0]!.promise;
    assert.equal(vectors.length, 20);
    assert.deepEqual(tokens, Array(20).fill(1));
  });

  it('fails a call at its first text that has too many tokens, counted from its first text', async () => {
    const { queue, queued } = queueOf(['a', 'b', 'c']);
    queue.step();
    assert.equal(queued[0]?.take({ tokens: [3, 11], vectors: new Float32Array(3 * 1024) }), true);
    await assert.rejects(queued[0]!.promise, /text 1/);
  });
});
