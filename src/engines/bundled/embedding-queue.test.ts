import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EmbeddingQueue, type EmbeddingStep, QueuedEmbedding } from './embedding-queue.ts';

const LONG = 'x'.repeat(8_000);
const tooLong = (index: number) => new RangeError(`text ${index}`);

const embedding = (texts: readonly string[], scope = 'a') =>
  new QueuedEmbedding({ texts, limit: 10, withVectors: true, scope }, tooLong);

function queueOf(...calls: (readonly string[])[]) {
  const queue = new EmbeddingQueue();
  const queued = calls.map((texts) => embedding(texts));
  for (const call of queued) queue.add(call);
  return { queue, queued };
}

/** Takes a step as if every text had a token. */
function done(queue: EmbeddingQueue, step: EmbeddingStep | null): void {
  for (const [i, call] of (step?.calls ?? []).entries()) {
    const count = step?.portions[i]?.texts.length ?? 0;
    const result = { tokens: Array(count).fill(1), vectors: new Float32Array(1024 * count) };
    if (call.addResult(result)) queue.remove(call);
  }
}

describe('EmbeddingQueue', () => {
  it('batches short texts of several calls', () => {
    const { queue, queued } = queueOf(['a', 'b'], ['c'], ['d', 'e', 'f']);
    const step = queue.takeStep();
    assert.deepEqual(step?.calls, queued);
    assert.deepEqual(
      step?.portions.map(({ texts }) => texts),
      [['a', 'b'], ['c'], ['d', 'e', 'f']],
    );
    assert.equal(queue.takeStep(), null);
  });

  it('serves a short call in the next step, whatever is queued before it', () => {
    const { queue } = queueOf(Array(2048).fill(LONG));
    const first = queue.takeStep();
    assert.ok((first?.portions[0]?.texts.length ?? 0) <= 4);
    const short = embedding(['a']);
    queue.add(short);
    assert.ok(queue.takeStep()?.calls.includes(short));
  });

  it('serves another organization in the next step, however many calls one has', () => {
    const { queue } = queueOf(...Array(700).fill(Array(2048).fill(LONG)));
    queue.takeStep();
    const other = embedding(['a', 'b'], 'b');
    queue.add(other);
    const step = queue.takeStep();
    assert.deepEqual(step?.portions[step.calls.indexOf(other)]?.texts, ['a', 'b']);
  });

  it('alternates between calls of long texts', () => {
    const { queue, queued } = queueOf(Array(6).fill(LONG), Array(6).fill(LONG));
    for (let step = queue.takeStep(); step !== null; step = queue.takeStep()) {
      assert.deepEqual(
        step.portions.map(({ texts }) => texts.length),
        [2, 2],
      );
    }
    assert.deepEqual(
      queued.map(({ remainingTexts }) => remainingTexts),
      [0, 0],
    );
  });

  it('gives an oversized text its own step, and bounds the texts of a step', () => {
    const { queue } = queueOf(['x'.repeat(1_000_000), 'b'], ['c']);
    assert.deepEqual(
      queue.takeStep()?.portions.map(({ texts }) => texts.length),
      [1],
    );
    const tiny = queueOf(Array(2048).fill('a'));
    assert.ok((tiny.queue.takeStep()?.portions[0]?.texts.length ?? 0) <= 256);
  });

  it('skips removed calls', () => {
    const { queue, queued } = queueOf(['a'], ['b']);
    queue.remove(queued[0]!);
    assert.deepEqual(queue.takeStep()?.calls, [queued[1]]);
  });

  it('returns vectors in the order of the texts over several steps', async () => {
    const { queue, queued } = queueOf(Array(20).fill(LONG));
    let steps = 0;
    for (let step = queue.takeStep(); step !== null; step = queue.takeStep(), steps++) done(queue, step);
    assert.ok(steps > 1);
    const { vectors, tokens } = await queued[0]!.promise;
    assert.equal(vectors.length, 20);
    assert.deepEqual(tokens, Array(20).fill(1));
  });

  it('rejects a call with the index of its first text over the limit', async () => {
    const { queue, queued } = queueOf(['a', 'b', 'c']);
    queue.takeStep();
    assert.equal(queued[0]?.addResult({ tokens: [3, 11], vectors: new Float32Array(3 * 1024) }), true);
    await assert.rejects(queued[0]!.promise, /text 1/);
  });
});
