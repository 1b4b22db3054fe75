import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeTiff } from '../../../../test/fixtures/scans.ts';
import { listTiffPages, selectTiffPage } from './tiff-pages.ts';

const page = (width: number, height: number) => ({ width, height, pixels: new Uint8Array(width * height) });

describe('listTiffPages', () => {
  for (const isLittle of [true, false]) {
    it(`lists the pages of a ${isLittle ? 'little' : 'big'}-endian file, and makes any the first`, () => {
      const file = encodeTiff([page(3, 5), page(70_000, 1), page(7, 2)], isLittle);
      const pages = listTiffPages(file);
      assert.deepEqual(
        pages.map(({ width, height }) => [width, height]),
        [
          [3, 5],
          [70_000, 1],
          [7, 2],
        ],
      );
      const [, second] = pages;
      assert.ok(second !== undefined);
      selectTiffPage(file, second);
      assert.deepEqual(
        listTiffPages(file).map(({ width }) => width),
        [70_000, 7],
      );
    });
  }

  it('rejects damaged files', () => {
    const file = encodeTiff([page(3, 5), page(4, 4)]);
    const [first] = listTiffPages(file);
    const circular = Buffer.from(file);
    // The last directory ends with the position of the next one.
    circular.writeUInt32LE(first?.directory ?? 0, circular.length - 4);
    const big = Buffer.from(file);
    big.writeUInt16LE(43, 2);
    const junk = Buffer.from('II*\0\xff\xff\xff\x7f', 'latin1');
    for (const [content, message] of [
      [file.subarray(0, file.length - 20), /damaged or incomplete/],
      [Buffer.from('II'), /damaged or incomplete/],
      [junk, /damaged or incomplete/],
      [circular, /form a circle/],
      [big, /BigTIFF/],
      [Buffer.from('PK\x03\x04'), /not a TIFF/],
    ] as const) {
      assert.throws(() => listTiffPages(content), { code: 'invalid_file', message });
    }
  });

  it('rejects more pages than the limit', () => {
    const pages = Array.from({ length: 5_001 }, () => page(1, 2));
    assert.equal(listTiffPages(encodeTiff(pages.slice(1))).length, 5_000);
    assert.throws(() => listTiffPages(encodeTiff(pages)), { code: 'too_large', message: /5,000 pages/ });
  });
});
