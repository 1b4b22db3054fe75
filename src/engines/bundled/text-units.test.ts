import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitUnits } from '../../../packages/bundled-models/src/chat/text-units.ts';
import { splitSentences } from '../../lib/sentences.ts';

const texts = (text: string): string[] => [...splitUnits(text, splitSentences)].map((unit) => unit.text);

describe('splitUnits', () => {
  it('does not end sentences at abbreviations, initials, numbers and quotations', () => {
    const sentences = [
      'Mr. Smith went to Washington, D.C. on Jan. 5.',
      'He met Dr. J. R. Jones.',
      'It cost 3.5 million dollars.',
      '"Why?" he asked.',
      'See e.g. Figure 2.',
    ];
    assert.deepEqual(texts(sentences.join(' ')), sentences);
  });
  it('joins wrapped lines and splits at blank lines', () => {
    assert.deepEqual(texts('One sentence\nover two lines. Another.\n\nA third'), [
      'One sentence over two lines.',
      'Another.',
      'A third',
    ]);
  });
  it('splits the table rows of extracted documents', () => {
    assert.deepEqual(texts('name | room\nAda Moore | 101\nBen Hill | 102'), [
      'name | room',
      'Ada Moore | 101',
      'Ben Hill | 102',
    ]);
  });

  it('splits list items, table rows and lines of code', () => {
    const text =
      '- first item\n- second item\n  goes on\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nrun();\nstop();\n```';
    assert.deepEqual(texts(text), ['first item', 'second item goes on', '| a | b |', '| 1 | 2 |', 'run();', 'stop();']);
  });
  it('attaches headings to units and omits them', () => {
    const units = [...splitUnits('# Shop\n\nWe sell books.\n\nOpening hours\n\nWe open at nine.', splitSentences)];
    assert.deepEqual(units, [
      { text: 'We sell books.', heading: 'Shop' },
      { text: 'We open at nine.', heading: 'Opening hours' },
    ]);
    assert.deepEqual(
      [...splitUnits('**Returns.** Bring the receipt.\n\n**Gifts**\n\nWe wrap them.', splitSentences)],
      [
        { text: 'Bring the receipt.', heading: 'Returns' },
        { text: 'We wrap them.', heading: 'Gifts' },
      ],
    );
  });
  it('truncates long units at spaces, never within a surrogate pair', () => {
    for (const text of ['word '.repeat(500), '😀'.repeat(1000)]) {
      const units = texts(text.startsWith('w') ? text : `a${text}`);
      assert.ok(units.length > 1 || text.startsWith('😀'));
      for (const unit of units) assert.ok(unit.length <= 600 && unit.isWellFormed());
    }
  });
});
