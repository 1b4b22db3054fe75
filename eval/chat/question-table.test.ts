import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { casesOf, chosenOf, type QuestionSet } from './question-cases.ts';
import { overlap, repeats } from './question-table.ts';

describe('the measures of answers', () => {
  it('F1 counts each word as often as both have it', () => {
    assert.equal(overlap('the cat sat', 'The cat.'), 0.8);
    assert.equal(overlap('a a', 'a'), 2 / 3);
    assert.equal(overlap('one', 'two'), 0);
  });
  it('an answer repeats itself when four words in a row come again', () => {
    assert.equal(repeats('it was in the year it was in the year'), true);
    assert.equal(repeats('it was in the year and it was in a year'), false);
  });
});

describe('the cases', () => {
  const passages = ['cats eat fish', 'dogs eat meat', 'cows eat grass', 'cats sleep a lot'];
  const questions = passages.map((_, passage) => ({
    text: 'what do cats eat',
    passage,
    isRight: () => true,
    sentences: ['x'],
  }));
  const set: QuestionSet = { name: 'animals', passages, questions };

  it('have the passage with the answer, those nearest to the question, and without it one more of these', () => {
    const { asked, unanswerable } = casesOf(set, { passages: 2 }, new Set([1]));
    assert.deepEqual([...(asked[0]?.passages ?? [])].sort(), ['cats eat fish', 'dogs eat meat']);
    assert.deepEqual([...(unanswerable[0]?.passages ?? [])].sort(), ['cats eat fish', 'cats sleep a lot']);
  });
  it('of one half are none of the other', () => {
    assert.deepEqual([chosenOf(set, 0, 9), chosenOf(set, 1, 1)], [new Set([0, 2]), new Set([1])]);
  });
});
