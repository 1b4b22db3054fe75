import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitAtPassage } from './passage.ts';

const chunk = (text: string, start_index: number) => ({ text, start_index, end_index: start_index + text.length });
const show = (chunks: ReturnType<typeof chunk>[], start: number, end: number) =>
  splitAtPassage(chunks, { start, end })
    .map(({ text, isPassage }) => (isPassage ? `[${text}]` : text))
    .join('');

describe('splitAtPassage', () => {
  it('splits a chunk at the passage', () => {
    assert.equal(show([chunk('One 📚. Two. Three.', 10)], 18, 22), 'One 📚. [Two.] Three.');
    assert.equal(show([chunk('One.', 10)], 10, 14), '[One.]');
  });

  it('joins chunks with overlaps and gaps, and a passage over both', () => {
    const chunks = [chunk('one two', 0), chunk('two three', 4), chunk('four', 15)];
    assert.equal(show(chunks, 4, 9), 'one [two][ t]hree\n\nfour');
    assert.equal(show(chunks, 8, 17), 'one two [three][\n\n][fo]ur');
    assert.equal(show(chunks, 15, 19), 'one two three\n\n[four]');
  });

  it('is empty when the passage is not in the chunks', () => {
    assert.equal(show([chunk('One.', 10)], 14, 20), '');
    assert.equal(show([chunk('One.', 10)], 2, 10), '');
    assert.equal(show([], 2, 10), '');
  });
});
