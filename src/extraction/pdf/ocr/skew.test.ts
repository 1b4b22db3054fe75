import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listTurns, measureDirection } from './skew.ts';
import type { BinaryImage } from './tesseract-core.ts';

const [WIDTH, HEIGHT] = [800, 1000];

/** Draws lines of short dashes that fall to the right by `degrees`; sideways ones are exchanged columns and rows. */
function drawLines(degrees: number, isSideways = false): BinaryImage {
  const words = new Uint32Array((WIDTH / 32) * HEIGHT);
  const slope = Math.tan((degrees * Math.PI) / 180);
  const [across, down] = isSideways ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT];
  for (let line = 100; line < down - 100; line += 40) {
    for (let along = 100; along < across - 100; along++) {
      if (along % 13 < 5) continue;
      for (let thickness = 0; thickness < 6; thickness++) {
        const fall = Math.round(line + slope * (along - across / 2)) + thickness;
        const [x, y] = isSideways ? [fall, along] : [along, fall];
        const at = Math.floor((y * WIDTH + x) / 32);
        words[at] = ((words[at] ?? 0) | (1 << (31 - (x % 32)))) >>> 0;
      }
    }
  }
  return { width: WIDTH, height: HEIGHT, wordsPerRow: WIDTH / 32, words };
}

describe('measureDirection', () => {
  for (const degrees of [-8, -2.3, -1, 0.8, 5.5]) {
    it(`finds a skew of ${degrees} degrees`, () => {
      const { isSideways, skew } = measureDirection(drawLines(degrees));
      assert.equal(isSideways, false);
      assert.ok(Math.abs((skew * 180) / Math.PI - degrees) < 0.25, String((skew * 180) / Math.PI));
    });
  }

  it('ignores a small skew, and one beyond the search', () => {
    assert.equal(measureDirection(drawLines(0)).skew, 0);
    assert.equal(measureDirection(drawLines(0.1)).skew, 0);
    assert.equal(measureDirection(drawLines(10)).skew, 0);
  });

  it('recognizes lines that run upwards', () => {
    for (const degrees of [0, 3]) assert.equal(measureDirection(drawLines(degrees, true)).isSideways, true);
  });

  it('returns no skew for a blank page', () => {
    const blank = { width: 64, height: 10, wordsPerRow: 2, words: new Uint32Array(20) };
    assert.deepEqual(measureDirection(blank), { isSideways: false, skew: 0 });
  });
});

describe('listTurns', () => {
  it('begins with the turn of the page before, where the direction of the lines admits it', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((last) => listTurns(false, last)[0]),
      [0, 0, 2, 0],
    );
    assert.deepEqual(
      [0, 1, 2, 3].map((last) => listTurns(true, last)[0]),
      [1, 1, 1, 3],
    );
    assert.deepEqual(listTurns(true, 3), [3, 1, 0]);
    assert.deepEqual(listTurns(false, 2), [2, 0]);
  });
});
