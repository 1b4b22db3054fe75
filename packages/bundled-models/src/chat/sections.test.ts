import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitSections } from './sections.ts';

const read = (text: string, title = 'pump.md') =>
  splitSections([{ title, text }]).map(({ heading, text: own }) => [heading, own]);

describe('splitSections', () => {
  it('splits at headings, keeps steps and tables whole, and omits headings without text', () => {
    const steps = '1. Open the lid.\n2. Rinse it.\n\n   Dry it.';
    const table = '| lamp | meaning |\n|---|---|\n| red | empty |';
    const text = `Intro.\n\n# Pump\n\n## Cleaning ##\n\n${steps}\n\nLamps\n-----\n${table}\n\n## Nothing\n`;
    assert.deepEqual(read(text), [
      ['pump.md', 'Intro.'],
      ['Cleaning', steps],
      ['Lamps', table],
    ]);
  });
  it('heads a paragraph by its bold opening, and what follows a bold line by that line', () => {
    const text =
      '# Pump\n\n**Upgrade.** Stop it.\n- first\n\n- second\n\nMore text.\n\n__Down__: no.\n\n**Spare parts**\n\nSee E2.\n\nAnd E3, **not** E4.';
    assert.deepEqual(read(text), [
      ['Upgrade', 'Stop it.\n- first\n\n- second'],
      ['Pump', 'More text.'],
      ['Down', 'no.'],
      ['Spare parts', 'See E2.\n\nAnd E3, **not** E4.'],
    ]);
  });
  it('takes no line of code for a heading', () => {
    const code = '```sh\n# stop first\n\n**a** b\n```';
    assert.deepEqual(read(`# Run\n\n${code}`), [['Run', code]]);
  });
  it('takes the headings above a chunk from its title, except for an overlap before the last of them', () => {
    assert.deepEqual(read('Rinse it.', 'pump.md > Pump > Cleaning'), [['Cleaning', 'Rinse it.']]);
    assert.deepEqual(read('end of another.\n\n## Cleaning\n\nRinse it.', 'pump.md > Pump > Cleaning'), [
      ['pump.md', 'end of another.'],
      ['Cleaning', 'Rinse it.'],
    ]);
    const [section] = splitSections([{ title: 'pump.md > Cleaning', text: 'Rinse it.' }]);
    assert.equal(section?.isHeaded, true);
    assert.equal(splitSections([{ title: 'pump.md', text: 'Rinse it.' }])[0]?.isHeaded, false);
  });
  it('splits long sections into overlapping windows, and loses no text', () => {
    for (const part of ['A paragraph.\n\n', '- an item\n', '| a | row\n', 'word ', 'ยย ', 'ย', 'a😀']) {
      const text = Array.from({ length: 1_000 }, (_, i) => `${i}${part}`).join('');
      for (const [title, maxBytes] of [
        ['# Long\n\n', 700],
        ['', 1_400],
      ] as const) {
        let end = 0;
        for (const [heading, window = ''] of read(title + text)) {
          assert.equal(heading, title === '' ? 'pump.md' : 'Long');
          assert.ok(Buffer.byteLength(window) <= maxBytes && window.isWellFormed());
          const plain = window.replace(/\s/g, '');
          const start = text.replace(/\s/g, '').indexOf(plain);
          assert.ok(start >= 0 && start <= end, part);
          end = Math.max(end, start + plain.length);
        }
        assert.equal(end, text.replace(/\s/g, '').length, part);
      }
    }
  });
  it('starts windows at paragraphs, items and rows, and not within code', () => {
    const code = `\`\`\`sh\n${'run it\n\n'.repeat(40)}\`\`\``;
    const windows = read(`# Long\n\nTry this:\n\n${code}\n\n${'- an item of the list\n  goes on\n'.repeat(60)}`);
    assert.ok(windows.length > 5);
    for (const [, window = ''] of windows) assert.match(window, /^(?:Try|```sh|- an)/);
  });
  it('splits at numbered headings of documents without markup, and not at items of lists', () => {
    const text =
      '1 Welcome\n\nThe office is open.\n\n2.1 When the siren sounds\n\nThree tones: a storm.\n\n1. Open\n2. Close';
    assert.deepEqual(read(text), [
      ['1 Welcome', 'The office is open.'],
      ['2.1 When the siren sounds', 'Three tones: a storm.\n\n1. Open\n2. Close'],
    ]);
    assert.equal(read('1 Apples\n\n2 Pears\n\n3 Plums').length, 1);
  });
  it('reads 300 kB of any markup in linear time', () => {
    for (const part of ['**', '**a', '# \n', '```\n', 'a\n---\n', '\n \n', '- a\n', '__a__: b\n\n', '  ']) {
      assert.ok(Array.isArray(read(part.repeat(Math.ceil(3e5 / part.length)))), part);
    }
  });
});
