import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
