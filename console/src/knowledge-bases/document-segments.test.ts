import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joinChunks } from './document-segments.ts';

const TEXT = 'One long tone means fog. Two tones mean a swell. Three tones mean a storm.';
const chunk = (start: number, end: number) => ({ text: TEXT.slice(start, end), start_index: start, end_index: end });

describe('the text of a document, joined from its chunks', () => {
  it('is the original text when chunks touch or overlap', () => {
    for (const ranges of [
      [[0, 74]],
      [
        [0, 25],
        [25, 49],
        [49, 74],
      ],
      [
        [0, 30],
        [20, 60],
        [50, 74],
      ],
      [
        [0, 40],
        [10, 45],
        [30, 74],
      ],
    ] as [number, number][][]) {
      const segments = joinChunks(ranges.map(([start, end]) => chunk(start, end)));
      assert.equal(segments.map(({ text }) => text).join(''), TEXT);
    }
  });

  it('names both chunks of an overlap', () => {
    const segments = joinChunks([chunk(0, 30), chunk(20, 74)]);
    assert.deepEqual(
      segments.map(({ text, chunks }) => [text.length, chunks]),
      [
        [20, [0]],
        [10, [0, 1]],
        [44, [1]],
      ],
    );
  });

  it('shows a gap as an empty line that belongs to no chunk', () => {
    const segments = joinChunks([chunk(0, 24), chunk(25, 48)]);
    assert.deepEqual(segments[1], { text: '\n\n', chunks: [] });
  });
});
