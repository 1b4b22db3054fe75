import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodePng, encodeTiff } from '../../../../test/fixtures/scans.ts';
import { decodeImagePage } from './decode-image-page.ts';

/** Images of 4 by 2 pixels in red, 200, 10, 30. */
const RED = {
  webp: 'UklGRh4AAABXRUJQVlA4TBEAAAAvA0AAAAdQhSLXo/+BiOh/AAA=',
  'png with a palette':
    'iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAMAAABIdo1RAAADAFBMVEXICh4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABsqudkAAAAC0lEQVR4nGNggAEAAAoAAX+AdF4AAAAASUVORK5CYII=',
};
/** The same in black and white, compressed by Group 4. */
const BLACK =
  'SUkqAAwAAADABABACQAAAQMAAQAAAAQAAAABAQMAAQAAAAIAAAACAQMAAQAAAAEAAAADAQMAAQAAAAQAAAAGAQMAAQAAAAEAAAARAQQAAQAAAAgAAAAWAQMAAQAAAAIAAAAXAQQAAQAAAAQAAAAcAQMAAQAAAAEAAAAAAAAA';

const gray = (width: number, pixels: readonly number[]) => ({
  width,
  height: pixels.length / width,
  pixels: Uint8Array.from(pixels),
});

const decode = async (content: Buffer, { page = 1, widthPixels = 100, maxPixels = 8_000_000 } = {}) => {
  const { width, height, pixels } = await decodeImagePage(
    { content, bytes: content.length },
    { page, widthPixels, maxPixels },
  );
  const colors = Array.from({ length: width * height }, (_, i) => pixels.slice(4 * i, 4 * i + 3).join());
  return { width, height, colors };
};

describe('decodeImagePage', () => {
  it('decodes colors, palettes, and black and white, without enlarging', async () => {
    for (const [name, base64] of Object.entries(RED)) {
      const { width, height, colors } = await decode(Buffer.from(base64, 'base64'));
      assert.deepEqual([width, height, new Set(colors)], [4, 2, new Set(['200,10,30'])], name);
    }
    assert.deepEqual(new Set((await decode(Buffer.from(BLACK, 'base64'))).colors), new Set(['0,0,0']));
    const { colors } = await decode(encodePng(gray(3, [0, 128, 255])));
    assert.deepEqual(colors, ['0,0,0', '128,128,128', '255,255,255']);
  });

  it('reduces an image to the width and the number of pixels, by averages', async () => {
    const image = encodePng(gray(4, [0, 100, 200, 200, 0, 100, 200, 200]));
    assert.deepEqual(await decode(image, { widthPixels: 2 }), {
      width: 2,
      height: 1,
      colors: ['50,50,50', '200,200,200'],
    });
    const square = encodePng(
      gray(
        4,
        Array.from({ length: 16 }, () => 7),
      ),
    );
    const { width, height } = await decode(square, { maxPixels: 4 });
    assert.deepEqual([width, height], [2, 2]);
  });

  it('selects the page of a TIFF, and rejects one after the last', async () => {
    for (const isLittle of [true, false]) {
      const file = encodeTiff([gray(2, [10, 10]), gray(2, [20, 20])], isLittle);
      assert.deepEqual((await decode(file, { page: 2 })).colors, ['20,20,20', '20,20,20']);
      assert.deepEqual((await decode(file)).colors, ['10,10,10', '10,10,10']);
      await assert.rejects(decode(file, { page: 3 }), { code: 'not_found', message: 'The document has 2 pages.' });
    }
  });

  it('rejects a damaged image and too many pixels, and decodes the next one', async () => {
    const image = gray(2, [10, 10]);
    await assert.rejects(decode(encodePng(image).subarray(0, 40)), /cannot be decoded/);
    await assert.rejects(decode(encodePng(image, { width: 90_000, height: 9_000 })), { code: 'too_large' });
    await assert.rejects(decode(Buffer.from('text')), { code: 'invalid_file' });
    assert.deepEqual((await decode(encodePng(image))).colors, ['10,10,10', '10,10,10']);
  });
});
