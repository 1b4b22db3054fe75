import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mapConcurrent } from './map-concurrent.ts';
import { splitIntoWindows } from './text-windows.ts';

/** A word is a token, and of a long word every five characters. */
const tokensOf = (text: string) =>
  (text.match(/\S+/g) ?? []).reduce((sum, word) => sum + Math.ceil([...word].length / 5), 0);
const count = async (texts: readonly string[]) => texts.map(tokensOf);

describe('windows of a text', () => {
  it('are the text itself where it fits', async () => {
    assert.deepEqual(await splitIntoWindows('one two', 2, 2, count), [{ text: 'one two', tokens: 2 }]);
  });

  it('have room for their tokens, lose no character and cut neither words nor characters', async () => {
    const uneven = `${'a '.repeat(500)}${'extraordinarily '.repeat(300)}${'x'.repeat(900)}`;
    for (const text of ['word '.repeat(999), uneven, '😀'.repeat(1_000), ` \n${'  wide   gaps '.repeat(200)}   `]) {
      const windows = await splitIntoWindows(text, tokensOf(text), 100, count);
      assert.equal(windows.map((window) => window.text).join(''), text);
      for (const window of windows) {
        assert.ok(window.tokens <= 100 && window.tokens === tokensOf(window.text), `${window.tokens} tokens`);
        assert.ok(window.text.isWellFormed());
        assert.match(window.text, /\S/);
      }
      assert.ok(windows.length <= 3 * Math.ceil(tokensOf(text) / 100), `${windows.length} windows`);
    }
    const words = await splitIntoWindows('word '.repeat(999), 999, 100, count);
    assert.ok(
      words.every(({ text }) =>
        text
          .trim()
          .split(' ')
          .every((word) => word === 'word'),
      ),
    );
  });

  it('end with what cannot be cut, however little room there is', async () => {
    const stubborn = async (texts: readonly string[]) => texts.map(() => 50);
    const windows = await splitIntoWindows('ab', 50, 10, stubborn);
    assert.equal(windows.map(({ text }) => text).join(''), 'ab');
  });
});

describe('tasks in turns', () => {
  const never = new AbortController().signal;

  it('give their results in order, four at once at most', async () => {
    let running = 0;
    let most = 0;
    const results = await mapConcurrent([...Array(30).keys()], never, async (item) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return 2 * item;
    });
    assert.deepEqual(
      results,
      [...Array(30).keys()].map((item) => 2 * item),
    );
    assert.equal(most, 4);
  });

  it('end with the first that fails, the others by their signal, and begin no more', async () => {
    const started: number[] = [];
    const ended: unknown[] = [];
    const failing = mapConcurrent([0, 1, 2, 3, 4, 5], never, async (item, signal) => {
      started.push(item);
      if (item === 1) throw new Error('the second');
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }).catch((error: unknown) => ended.push(error));
    await failing;
    assert.match(String(ended[0]), /the second/);
    assert.deepEqual(started, [0, 1, 2, 3]);
  });
});
