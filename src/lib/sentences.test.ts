import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitSentences } from './sentences.ts';

const splitTexts = (text: string) => splitSentences(text).map(({ start, end }) => text.slice(start, end));

describe('splitSentences', () => {
  it('ends a sentence at a full stop, question mark or exclamation mark', () => {
    assert.deepEqual(splitTexts('It rains. Does it? Yes! Fine.'), ['It rains.', 'Does it?', 'Yes!', 'Fine.']);
  });

  it('does not end a sentence after a title, month, initial or decimal point', () => {
    assert.deepEqual(splitTexts('Dr. J. K. Rowan of St. Ives paid $3.50 on Jan. 5. See Fig. 3.'), [
      'Dr. J. K. Rowan of St. Ives paid $3.50 on Jan. 5.',
      'See Fig. 3.',
    ]);
  });

  it('continues a sentence before a lower-case word', () => {
    assert.deepEqual(splitTexts('"Really?" she asked. Some Inc. is a firm.'), [
      '"Really?" she asked.',
      'Some Inc. is a firm.',
    ]);
  });

  it('joins wrapped lines and keeps short lines apart', () => {
    const wrapped = 'This sentence is so long that whoever wrote it had to break the\nLine of it. Next.';
    assert.deepEqual(splitTexts(wrapped), [wrapped.slice(0, -6), 'Next.']);
    assert.deepEqual(splitTexts('Milk\nBread\nButter'), ['Milk', 'Bread', 'Butter']);
  });

  it('always ends a sentence at an empty line', () => {
    assert.deepEqual(splitTexts('no stop here\n\nnor here'), ['no stop here', 'nor here']);
  });

  it('ends sentences in scripts without spaces', () => {
    assert.deepEqual(splitTexts('これは文です。次の文です。'), ['これは文です。', '次の文です。']);
  });

  it('covers every non-blank character once and in order', () => {
    for (const text of ['', ' \n\t ', 'a', 'A. b. C.\r\n\r\nD\u0000E. \u200f شكرا. 😀. Ok', '...!?\n\n..']) {
      const spans = splitSentences(text);
      let at = 0;
      for (const { start, end } of spans) {
        assert.equal(text.slice(at, start).trim(), '');
        assert.ok(end > start);
        at = end;
      }
      assert.equal(text.slice(at).trim(), '');
    }
  });
});
