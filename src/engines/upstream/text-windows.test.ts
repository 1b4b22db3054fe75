import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mapConcurrent } from './map-concurrent.ts';
import { splitIntoWindows } from './text-windows.ts';

/** A word is a token; a long word is one token per five characters. */
const tokensOf = (text: string) =>
  (text.match(/\S+/g) ?? []).reduce((sum, word) => sum + Math.ceil([...word].length / 5), 0);
const count = async (texts: readonly string[]) => texts.map(tokensOf);

describe('splitIntoWindows', () => {
  it('returns a text that fits', async () => {
    assert.deepEqual(await splitIntoWindows('one two', 2, 2, count), [{ text: 'one two', tokens: 2 }]);
  });

  it('respects the limit, loses no character and splits neither words nor characters', async () => {
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

  it('keeps what cannot be split, whatever the limit', async () => {
    const stubborn = async (texts: readonly string[]) => texts.map(() => 50);
    const windows = await splitIntoWindows('ab', 50, 10, stubborn);
    assert.equal(windows.map(({ text }) => text).join(''), 'ab');
  });
});

describe('mapConcurrent', () => {
  const never = new AbortController().signal;

  it('returns results in order, at most four concurrent', async () => {
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

  it('aborts the others at the first failure, and starts no more', async () => {
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
