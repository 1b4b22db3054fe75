import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Block } from '../../extracted-document.ts';
import type { RecognizedWord } from './recognized-page.ts';
import { boxText } from './text-boxes.ts';

/** A page of lines: each word is 50 wide, 10 apart, each line 20 high. `fall` moves each word of a line down. */
function recognize(lines: readonly string[], fall = 0) {
  const pieces = lines.flatMap((line, row) =>
    line.split(' ').map((text, column): RecognizedWord => {
      const [left, top] = [60 * column, 30 * row + fall * column];
      const box = { left, top, right: left + 50, bottom: top + 20 };
      return { text, box, x: 0, y: 0, width: 0, size: 0, angle: 0, isRightToLeft: false };
    }),
  );
  return { pieces, width: 1, height: 1, words: pieces.length, confidence: 90, lines: [] };
}

const paragraphs = (...texts: [page: number, text: string][]) => {
  let text = '';
  const blocks = texts.map(([page, own]): Block => {
    if (text !== '') text += '\n\n';
    text += own;
    return { kind: 'paragraph', start: text.length - own.length, end: text.length, page };
  });
  return { text, blocks };
};

/** Pages with the text of each box, and its left and right. */
const view = (document: ReturnType<typeof paragraphs>, pages: Parameters<typeof boxText>[1]) =>
  boxText(document, pages).map(([start, end, page, left, , right]) => [
    page,
    document.text.slice(start, end),
    left,
    right,
  ]);

describe('boxText', () => {
  it('returns a box for each line, separated where sentences end', () => {
    const document = paragraphs([1, 'The harbour office is shut. Boats report on channel twelve.']);
    const pages = new Map([[1, recognize(['The harbour office is shut. Boats', 'report on channel twelve.'])]]);
    assert.deepEqual(view(document, pages), [
      [1, 'The harbour office is shut.', 0, 290],
      [1, 'Boats', 300, 350],
      [1, 'report on channel twelve.', 0, 230],
    ]);
    assert.deepEqual(boxText(document, pages)[2]?.slice(4), [30, 230, 50]);
  });

  it('covers a paragraph that continues on the next page, between pages without OCR', () => {
    const document = paragraphs(
      [1, 'A page with printed text only.'],
      [2, 'Two lanterns burn at night and the keeper trims them every hour.'],
      [4, 'A page with printed text only.'],
    );
    const pages = new Map([
      [3, recognize(['the keeper trims them every hour.'])],
      [2, recognize(['Two lanterns burn at night and'])],
    ]);
    assert.deepEqual(view(document, pages), [
      [2, 'Two lanterns burn at night and', 0, 350],
      [3, 'the keeper trims them every hour.', 0, 350],
    ]);
  });

  it('divides a skewed line, and leaves out words that are not in the text', () => {
    const document = paragraphs([1, 'Visiting boats report to the office']);
    const pages = new Map([[1, recognize(['Visiting boats report to the office', 'Page seven of ninety'], 4)]]);
    assert.deepEqual(
      view(document, pages).map(([, text]) => text),
      ['Visiting boats report', 'to the office'],
    );
  });

  it('returns at most 1,000 boxes of a page, then the boxes of the next page', () => {
    const lines = Array.from({ length: 1_200 }, (_, row) => `lantern${row} harbour${row}`);
    const document = paragraphs([1, lines.join(' ')], [2, 'Two lanterns burn at night.']);
    const pages = new Map([
      [1, recognize(lines)],
      [2, recognize(['Two lanterns burn at night.'])],
    ]);
    const boxes = view(document, pages);
    assert.equal(boxes.length, 1_001);
    assert.deepEqual(boxes.at(-1), [2, 'Two lanterns burn at night.', 0, 290]);
  });

  it('returns nothing without pages that OCR read', () => {
    assert.deepEqual(boxText(paragraphs([1, 'Text']), new Map()), []);
  });
});
