import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { makePdf, type PdfText } from '../../../test/fixtures/documents-pdf.ts';
import { renderPage } from './render-page.ts';

const LINES: PdfText[] = [
  { text: 'The library in Ashford opens at nine on Satur-', x: 72, y: 700, size: 12 },
  { text: 'days. The ferry to Skelby leaves at noon.', x: 72, y: 680, size: 12 },
  { text: 'Bread costs two pounds.', x: 72, y: 400, size: 12 },
];

/** Decodes a PNG of `encodePng`. */
function decode(png: Uint8Array) {
  const bytes = Buffer.from(png);
  assert.equal(bytes.toString('latin1', 1, 4), 'PNG');
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const rows = inflateSync(bytes.subarray(41, 41 + bytes.readUInt32BE(33)));
  return {
    width,
    height,
    pixel: (x: number, y: number) => [...rows.subarray(y * (1 + 3 * width) + 1 + 3 * x).subarray(0, 3)],
  };
}

/** Color of a marker on white. Letters have gray edges, also of the same blue. */
const MARKED = '255,226,92';

/** Bounds of the marked background, in points from the upper left corner of a page of 612 points rendered 1:1. */
function markedBounds({ width, height, pixel }: ReturnType<typeof decode>) {
  const marked: [number, number][] = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) if (pixel(x, y).join() === MARKED) marked.push([x, y]);
  }
  const [xs, ys] = [marked.map(([x]) => x), marked.map(([, y]) => y)];
  return marked.length === 0 ? null : [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

const render = async (passage: string | null, { rotate = 0, page = 1, widthPixels = 612, lines = LINES } = {}) => {
  const content = makePdf([lines], { rotate });
  const { png, isMarked } = await renderPage(
    { content, bytes: content.length },
    { format: 'pdf', page, widthPixels, passage, boxes: [] },
  );
  return { ...decode(png), isMarked };
};

describe('renderPage', () => {
  it('renders in the requested width', async () => {
    const { width, height, isMarked, pixel } = await render(null, { widthPixels: 300 });
    assert.deepEqual([width, height, isMarked, pixel(0, 0)], [300, 388, false, [255, 255, 255]]);
  });

  it('marks a passage over two lines with a hyphen, and nothing else', async () => {
    const image = await render('The library in Ashford opens at nine on Saturdays.');
    assert.equal(image.isMarked, true);
    const [left = 0, top = 0, right = 0, bottom = 0] = markedBounds(image) ?? [];
    assert.ok(left >= 70 && left <= 74 && top >= 78 && top < 92, `${left} ${top}`);
    // The second line is marked up to its first word, 20 points below the first.
    assert.ok(right > 300 && bottom > 106 && bottom < 118, `${right} ${bottom}`);
    assert.notDeepEqual(image.pixel(80, 103), [255, 255, 255], 'first word of the second line');
    assert.deepEqual(image.pixel(250, 103), [255, 255, 255], 'next sentence of the second line');
  });

  it('marks on rotated pages', async () => {
    const image = await render('Bread costs two pounds.', { rotate: 90, widthPixels: 792 });
    assert.deepEqual([image.width, image.height], [792, 612]);
    const [left = 0, top = 0, right = 0, bottom = 0] = markedBounds(image) ?? [];
    // 400 points above the lower edge, which is on the left.
    assert.ok(
      left > 390 && right < 415 && top > 68 && bottom > 180 && bottom < 220,
      `${left} ${top} ${right} ${bottom}`,
    );
  });

  it('returns the page without marks when the passage is not on it', async () => {
    for (const passage of ['The museum of Skelby is closed in winter.', '', '…']) {
      const image = await render(passage);
      assert.deepEqual([image.isMarked, markedBounds(image)], [false, null], passage);
    }
  });

  it('limits the pixels of a narrow page', async () => {
    const content = Buffer.from(makePdf([LINES]).toString('latin1').replace('0 0 612 792', '0 0 006 999'), 'latin1');
    const { png } = await renderPage(
      { content, bytes: content.length },
      { format: 'pdf', page: 1, widthPixels: 2000, passage: null, boxes: [] },
    );
    const { width, height } = decode(png);
    assert.ok(width * height <= 8_100_000 && height > 30_000, `${width} × ${height}`);
  });

  it('throws not_found for a page that does not exist, invalid_file for junk', async () => {
    await assert.rejects(render(null, { page: 2 }), { code: 'not_found' });
    const junk = { content: Buffer.from('junk'), bytes: 4 };
    await assert.rejects(renderPage(junk, { format: 'pdf', page: 1, widthPixels: 100, passage: null, boxes: [] }), {
      code: 'invalid_file',
    });
  });
});
