import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attribute } from './attribution.ts';
import type { ContextChunk } from './gather-context.ts';

/** The used part of a chunk. */
const chunkOf = (text: string): ContextChunk => ({ text }) as ContextChunk;
const LIBRARY = chunkOf(
  'The library of Ashford opens at 9 on Saturdays. It has 12,500 books about harbours 📚 and ships.',
);
const FERRY = chunkOf('The ferry to Skelby leaves the harbour at noon. A ticket costs 4 pounds.');
const CHUNKS = [LIBRARY, FERRY];

/** The attributed parts of an answer, with the first words of their chunks. */
const parts = (answer: string, chunks = CHUNKS) =>
  attribute(answer, chunks).map(({ chunk, start, end }) => [answer.slice(start, end), chunk.text.split(' ')[1]]);

describe('attribute', () => {
  it('attributes each sentence to the chunk that says the same, or to none', () => {
    assert.deepEqual(
      parts(
        'On Saturdays the library opens at 9. I hope that helps. The ferry leaves at noon. You could walk there instead.',
      ),
      [
        ['On Saturdays the library opens at 9.', 'library'],
        ['The ferry leaves at noon.', 'ferry'],
      ],
    );
  });
  it('requires two content words', () => {
    assert.deepEqual(parts('The ferry leaves.'), [['The ferry leaves.', 'ferry']]);
    assert.deepEqual(parts('The ferry.'), []);
  });
  it('selects the chunk with the highest share of terms, the first of equal ones', () => {
    const [ashford, skelby] = [
      chunkOf('The library of Ashford opens at 9 on Saturdays.'),
      chunkOf('The library of Skelby opens at 9 on Mondays.'),
    ];
    const sourceIn = (chunks: ContextChunk[]) =>
      attribute('The library of Ashford opens at 9 on Saturdays.', chunks)[0];
    assert.equal(sourceIn([ashford, skelby])?.chunk, ashford);
    assert.equal(sourceIn([skelby, ashford])?.chunk, ashford);
    const copy = { ...ashford };
    assert.equal(sourceIn([ashford, copy])?.chunk, ashford);
  });
  it('merges adjacent sentences of one chunk', () => {
    assert.deepEqual(parts('The ferry leaves at noon. A ticket costs 4 pounds.'), [
      ['The ferry leaves at noon. A ticket costs 4 pounds.', 'ferry'],
    ]);
  });
  it('requires all numbers of a sentence', () => {
    assert.deepEqual(parts('The library opens at 10 on Saturdays.'), []);
  });
  it('cites nothing in a declined answer, not even the closest passage that it shows', () => {
    const declined = 'I could not find the ferry to Skelby or its ticket in the documents.';
    assert.deepEqual(parts(declined), []);
    const closest = `${declined} The closest passage is from ferry.md > Ticket:\n\n> The ferry leaves at noon.\n> A ticket costs 4 pounds.`;
    assert.deepEqual(parts(closest), []);
    assert.deepEqual(parts(`Sorry, I couldn’t find the ticket. The ferry leaves at noon.`), [
      ['The ferry leaves at noon.', 'ferry'],
    ]);
    assert.equal(parts('> The ferry leaves at noon.').length, 1);
  });
  it('ignores thousands separators', () => {
    assert.equal(parts('The library has 12500 books.').length, 1);
    assert.equal(parts('The library has 12\u202f500 books.').length, 1);
  });
  it('ignores list numbers and printed citation markers', () => {
    assert.equal(parts('1. The library opens at 9 on Saturdays [3].').length, 1);
  });
  it('returns UTF-16 offsets and splits no surrogate pair', () => {
    const answer = '😀👩‍👩‍👧 Yes! 📚 The library has books about harbours and ships 🚢. 🎉';
    const found = attribute(answer, CHUNKS);
    assert.equal(found.length, 1);
    const { start = 0, end = 0 } = found[0] ?? {};
    assert.match(answer.slice(start, end), /The library has books about harbours and ships/);
    for (const part of [answer.slice(0, start), answer.slice(start, end), answer.slice(end)])
      assert.ok(part.isWellFormed());
  });
  it('works in scripts without spaces', () => {
    const chunks = [chunkOf('图书馆 周六九点开门。'), chunkOf('渡轮 中午出发。')];
    assert.deepEqual(
      attribute('图书馆周六九点开门。渡轮中午出发。', chunks).map(({ chunk }) => chunks.indexOf(chunk)),
      [0, 1],
    );
  });
  it('returns nothing for an empty answer or without chunks', () => {
    assert.deepEqual([parts(''), parts('The library opens at 9.', [])], [[], []]);
  });
});
