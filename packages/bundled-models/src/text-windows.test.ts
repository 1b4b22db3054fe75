import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { windowAt } from './text-windows.ts';

const SIZE = { characters: 32_768, overlap: 2_048 };
const SENTENCE = 'The members of the committee agreed on most points of the plan. ';

describe('windowAt', () => {
  it('returns a short text as one window', () => {
    const text = 'x'.repeat(SIZE.characters);
    assert.deepEqual(windowAt(text, 0, SIZE), { text, next: null });
  });

  it('covers the text with overlapping windows that split neither words nor surrogate pairs', () => {
    for (const text of [
      SENTENCE.repeat(3_900),
      '😀'.repeat(120_001),
      `a${'😀'.repeat(120_000)}`,
      'x'.repeat(300_000),
    ]) {
      let end = 0;
      let count = 0;
      for (let at: number | null = 0; at !== null; count++) {
        const window = windowAt(text, at, SIZE);
        assert.equal(window.text, text.slice(at, at + window.text.length));
        assert.ok(window.text.isWellFormed());
        if (count > 0) assert.ok(end - at >= 1_000, `${end} and ${at}`);
        end = at + window.text.length;
        if (text.includes(' ') && window.next !== null) assert.match(text.slice(end, end + 1), /^ /);
        at = window.next;
      }
      assert.equal(end, text.length);
      assert.equal(count, Math.ceil((text.length - SIZE.overlap) / (SIZE.characters - SIZE.overlap)));
    }
  });
});
