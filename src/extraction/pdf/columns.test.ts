import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column, type PdfText } from '../../../test/fixtures/documents-pdf.ts';
import { readingOrder } from './columns.ts';
import { mergeFragments } from './page-text.ts';

const WORDS =
  'the tide comes in at noon and leaves the harbour dry before the evening bell rings over the old quay'.split(' ');

/** Lines of about the given length, the first of which begins with a name. */
function lines(name: string, count: number, characters: number): string[] {
  let word = name.length;
  return Array.from({ length: count }, (_, i) => {
    let line = i === 0 ? name : (WORDS[word % WORDS.length] ?? '');
    while (line.length + (WORDS[++word % WORDS.length]?.length ?? 0) < characters) {
      line += ` ${WORDS[word % WORDS.length]}`;
    }
    return line;
  });
}

/** The first words of each region of a page in reading order; letters are half as wide as high. */
function regionsOf(texts: readonly PdfText[]): string[] {
  const pieces = texts.map(({ text, x, y, size = 10 }) => ({
    ...{ text, x, y: 800 - y, size, width: text.length * size * 0.5, angle: 0, isRightToLeft: false },
  }));
  return readingOrder(mergeFragments(pieces)).map((region) => region[0]?.text.split(' ')[0] ?? '');
}

/** Rows of a table, with a position for each cell. */
const rows = (name: string, count: number, places: readonly number[], top: number): PdfText[] =>
  Array.from({ length: count }, (_, i) =>
    places.map((x, j) => ({ text: j === 0 && i === 0 ? name : `${i * 7 + j}`, x, y: top - i * 17 })),
  ).flat();

describe('readingOrder', () => {
  it('finds three columns with gutters of different widths, in any drawing order', () => {
    const page = [
      ...column(lines('Three', 12, 34), 410, 700, 9),
      ...column(lines('One', 12, 34), 50, 700, 9),
      ...column(lines('Two', 14, 36), 216, 700, 9),
    ];
    assert.deepEqual(regionsOf(page), ['One', 'Two', 'Three']);
  });

  it('finds two columns of which one has a figure with labels', () => {
    const labels = Array.from({ length: 80 }, (_, i) => ({
      text: String(i),
      x: 330 + (i % 8) * 25,
      y: 700 - Math.floor(i / 8) * 11,
    }));
    const page = [...column(lines('One', 40, 45), 50, 700), ...labels, ...column(lines('Two', 25, 45), 320, 590)];
    assert.deepEqual(regionsOf(page), ['One', '0']);
  });

  it('keeps a table over both columns together, above or below their text', () => {
    const text = [...column(lines('One', 20, 45), 50, 600), ...column(lines('Two', 20, 45), 320, 600)];
    const places = [50, 180, 330, 400, 470];
    assert.deepEqual(regionsOf([...rows('Table', 4, places, 700), ...text]), ['Table', 'One', 'Two']);
    assert.deepEqual(regionsOf([...text, ...rows('Table', 4, places, 300)]), ['One', 'Two', 'Table']);
  });

  it('places margin notes after the text beside them', () => {
    for (const x of [40, 500]) {
      const notes = [...column(lines('Note', 4, 16), x, 640, 7), ...column(lines('Second', 2, 16), x, 560, 7)];
      assert.deepEqual(regionsOf([...notes, ...column(lines('Text', 20, 70), 120, 700)]), ['Text', 'Note']);
    }
  });

  it('separates two pages on one, each with a table', () => {
    const page = [...rows('First', 14, [50, 250, 330], 500), ...rows('Second', 14, [480, 680, 760], 494)];
    assert.deepEqual(regionsOf(page), ['First', 'Second']);
  });

  it('reads a table row by row, however wide its gaps are', () => {
    for (const places of [
      [50, 250, 330, 480, 680, 760],
      [50, 500],
    ]) {
      assert.equal(regionsOf(rows('First', 14, places, 500)).length, 1);
    }
    const table = ['One', 'Two', 'Three'].flatMap((name, i) =>
      lines(name, 12, 30).map((text, j) => ({ text, x: 50 + i * 180, y: 700 - j * 20 })),
    );
    assert.equal(regionsOf(table).length, 1);
  });
});

describe('two lines of small text beside a line of larger text', () => {
  it('stay two lines', () => {
    const fragments = mergeFragments(
      [
        { text: 'Large letters', x: 200, y: 100, size: 14 },
        { text: 'a small', x: 50, y: 96, size: 7 },
        { text: 'note of', x: 80, y: 96, size: 7 },
        { text: 'two lines', x: 50, y: 104, size: 7 },
      ].map((piece) => ({ ...piece, width: piece.text.length * piece.size * 0.5, angle: 0, isRightToLeft: false })),
    );
    assert.deepEqual(
      fragments.map(({ text }) => text),
      ['a small note of', 'two lines', 'Large letters'],
    );
  });
});
