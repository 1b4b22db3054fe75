import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import { extractionHash } from './prepare-document.ts';

const signal = new AbortController().signal;

describe('extractionHash', () => {
  it('covers text and blocks of any length', async () => {
    const texts = ['', 'a', '漢'.repeat(65_537), `x${'😀'.repeat(70_000)}`];
    for (const text of texts) {
      for (const count of [0, 1, 512, 1025]) {
        const blocks = Array.from({ length: count }, (_, start) => ({
          kind: 'list-item' as const,
          start,
          end: start + 1,
        }));
        const expected = hash('sha256', `${text}\0${JSON.stringify(blocks)}`);
        assert.equal(await extractionHash({ text, blocks }, null, signal), expected);
      }
    }
  });

  it('changes with the boxes that OCR read', async () => {
    const boxes = Array.from({ length: 600 }, (_, i) => [i, i + 1, 1, 10, 20, 30, 40] as const);
    const hashWith = (some?: typeof boxes) =>
      extractionHash({ text: 'a', blocks: [], ...(some && { boxes: some }) }, null, signal);
    const hashes = [await hashWith(), await hashWith(boxes), await hashWith(boxes.slice(0, -1))];
    assert.equal(new Set(hashes).size, 3);
    assert.equal(await hashWith([]), hashes[0]);
  });
});
