import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTsv } from './recognized-page.ts';

const row = (level: number, place: number[], confidence: number, text = '') =>
  [level, 1, 1, 1, 1, 1, ...place, confidence, text].join('\t');

describe('parseTsv', () => {
  it('returns words in points on the bottom of their line, without those of low confidence', () => {
    const tsv = [
      'level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext',
      row(1, [0, 0, 1440, 2880], -1),
      row(4, [144, 288, 720, 48], -1),
      row(5, [144, 300, 72, 30], 90, 'Fees'),
      row(5, [288, 300, 72, 30], 29.9, '~|'),
      row(5, [432, 300, 72, 30], 70, '"42"'),
      row(5, [576, 300, 72, 30], 95, ' '),
      '',
    ].join('\n');
    const page = parseTsv(tsv, 144);
    assert.deepEqual([page.width, page.height, page.words, page.confidence], [720, 1440, 2, 80]);
    const place = { y: 168, width: 36, size: 24, angle: 0, isRightToLeft: false };
    assert.deepEqual(page.pieces, [
      { text: 'Fees', x: 72, ...place, box: { left: 100, top: 100, right: 150, bottom: 117 } },
      { text: '"42"', x: 216, ...place, box: { left: 300, top: 100, right: 350, bottom: 117 } },
    ]);
  });

  it('returns boxes on the displayed page, before it was turned', () => {
    const tsv = [row(1, [0, 0, 200, 100], -1), row(4, [0, 0, 80, 10], -1), row(5, [0, 0, 40, 10], 90, 'Fees')];
    const box = (quarters: number, skew = 0) => {
      const [word] = parseTsv(tsv.join('\n'), 72, { quarters, skew }).pieces;
      return Object.values(word?.box ?? {});
    };
    const [left, top, right, bottom] = [0, 0, 200, 100];
    assert.deepEqual(box(0), [left, top, right, bottom]);
    // Turned clockwise by a quarter, the upper left corner comes from the lower left one.
    assert.deepEqual(box(1), [top, 1000 - right, bottom, 1000 - left]);
    assert.deepEqual(box(2), [1000 - right, 1000 - bottom, 1000 - left, 1000 - top]);
    assert.deepEqual(box(3), [1000 - bottom, left, 1000 - top, right]);
    // Lines fell to the right: left of the center, the word was higher, outside of the page.
    assert.deepEqual(box(0, Math.PI / 6).slice(1, 2), [0]);
    assert.ok((box(0, -Math.PI / 60)[1] ?? 0) > 20, 'lines rose to the right');
  });

  it('gives lines of similar height one size, and keeps that of clearly larger ones', () => {
    const lines = [40, 26, 20, 22, 18].flatMap((height, index) => [
      row(4, [0, 100 * index, 500, height], -1),
      row(5, [0, 100 * index, 50, height], 90, 'word'),
    ]);
    assert.deepEqual(
      parseTsv(lines.join('\n'), 72).pieces.map(({ size }) => size),
      [40, 22, 22, 22, 22],
    );
  });

  it('returns an empty page for a blank one', () => {
    const page = parseTsv(row(1, [0, 0, 10, 10], -1), 72);
    assert.deepEqual(page, { width: 10, height: 10, pieces: [], words: 0, confidence: 0 });
  });
});
