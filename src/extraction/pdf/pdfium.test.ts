import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makePdf } from '../../../test/fixtures/documents-pdf.ts';
import { type PageBitmap, PdfiumDocument } from './pdfium.ts';

const pdf = makePdf([[], [{ text: 'MMMM', x: 72, y: 700, size: 40 }]]);

/** Bounds of the dark pixels of a gray page, as shares of its size. */
function darkBounds({ width, height, pixels }: PageBitmap) {
  const dark = [...pixels.keys()].filter((at) => (pixels[at] ?? 255) < 128);
  const columns = dark.map((at) => (at % width) / width);
  const rows = dark.map((at) => Math.floor(at / width) / height);
  const round = (share: number) => Math.round(share * 100);
  return [columns, rows].map((shares) => [round(Math.min(...shares)), round(Math.max(...shares))]);
}

describe('PdfiumDocument', () => {
  it('renders a page upright, in gray and in color, from memory and from a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quire-pdfium-'));
    const path = join(folder, 'a.pdf');
    writeFileSync(path, pdf);
    for (const content of [pdf, { path }]) {
      const document = await PdfiumDocument.open({ content, bytes: pdf.length });
      assert.equal(document.pageCount, 2);
      assert.deepEqual(document.pageSize(2), { width: 612, height: 792 });
      const blank = document.renderPage(1, { pixelsPerPoint: 0.5, isGray: true });
      assert.deepEqual([blank.width, blank.height, blank.pixels.length], [306, 396, 306 * 396]);
      assert.ok(blank.pixels.every((pixel) => pixel === 255));
      const gray = document.renderPage(2, { pixelsPerPoint: 1, isGray: true });
      // Letters of 40 points from 72 points left and 700 points above the lower edge.
      const [columns, rows] = darkBounds(gray);
      assert.deepEqual(
        [columns, rows],
        [
          [12, 33],
          [8, 11],
        ],
      );
      const color = document.renderPage(2, { pixelsPerPoint: 1, isGray: false });
      assert.equal(color.pixels.length, 4 * 612 * 792);
      assert.ok(color.pixels.every((byte, at) => at % 4 !== 3 || byte === 255));
      document.close();
    }
    rmSync(folder, { recursive: true });
  });

  it('rejects what is not a PDF, and a page that does not exist', async () => {
    const junk = Buffer.from('not a PDF');
    await assert.rejects(PdfiumDocument.open({ content: junk, bytes: junk.length }), { code: 'invalid_file' });
    const document = await PdfiumDocument.open({ content: pdf, bytes: pdf.length });
    assert.throws(() => document.pageSize(3), /cannot read page 3/);
    document.close();
  });
});
