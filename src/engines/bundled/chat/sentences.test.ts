import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sentencesOf, unitsOf } from './sentences.ts';

const texts = (text: string): string[] => [...unitsOf(text)].map((unit) => unit.text);

describe('the sentences of a text', () => {
  it('do not end at abbreviations, initials, numbers and quotations', () => {
    const sentences = [
      'Mr. Smith went to Washington, D.C. on Jan. 5.',
      'He met Dr. J. R. Jones.',
      'It cost 3.5 million dollars.',
      '"Why?" he asked.',
      'See e.g. Figure 2.',
    ];
    assert.deepEqual(sentencesOf(sentences.join(' ')), sentences);
  });
  it('go on over the ends of lines, and end at blank ones', () => {
    assert.deepEqual(texts('One sentence\nover two lines. Another.\n\nA third'), [
      'One sentence over two lines.',
      'Another.',
      'A third',
    ]);
  });
  it('are the rows of tables as documents are read, cells between bars', () => {
    assert.deepEqual(texts('name | room\nAda Moore | 101\nBen Hill | 102'), [
      'name | room',
      'Ada Moore | 101',
      'Ben Hill | 102',
    ]);
  });

  it('are the items of lists, the rows of tables and the lines of code', () => {
    const text =
      '- first item\n- second item\n  goes on\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nrun();\nstop();\n```';
    assert.deepEqual(texts(text), ['first item', 'second item goes on', '| a | b |', '| 1 | 2 |', 'run();', 'stop();']);
  });
  it('have the headings above them, which are none themselves', () => {
    const units = [...unitsOf('# Shop\n\nWe sell books.\n\nOpening hours\n\nWe open at nine.')];
    assert.deepEqual(units, [
      { text: 'We sell books.', heading: 'Shop' },
      { text: 'We open at nine.', heading: 'Opening hours' },
    ]);
  });
  it('are cut at a word where they have no end, and never within a character', () => {
    for (const text of ['word '.repeat(500), '😀'.repeat(1000)]) {
      const units = texts(text.startsWith('w') ? text : `a${text}`);
      assert.ok(units.length > 1 || text.startsWith('😀'));
      for (const unit of units) assert.ok(unit.length <= 600 && unit.isWellFormed());
    }
  });
});
