import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { casesOf, chosenOf, type QuestionSet } from './question-cases.ts';
import { overlap, questionTable, repeats } from './question-table.ts';
import { turnsOf } from './tool-cases.ts';

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

describe('turns with tools', () => {
  const user = { role: 'user', content: 'What is my balance?' } as const;
  const call = { id: 'c', type: 'function', function: { name: 'balance', arguments: '{"token":"t"}' } } as const;
  const tools = [{ type: 'function', function: { name: 'balance' } }] as const;

  it('join the announcement of a call with the call', () => {
    const said = { role: 'assistant', content: 'Let me check.' } as const;
    const made = { role: 'assistant', content: '', tool_calls: [{ ...call }] } as const;
    const result = { role: 'tool', content: '7', tool_call_id: 'c' } as const;
    const answer = { role: 'assistant', content: 'It is 7.' } as const;
    const messages = [user, said, { ...made, tool_calls: [...made.tool_calls] }, result, answer];
    const turns = turnsOf([{ messages, tools: [...tools] }]);
    assert.deepEqual(
      turns.map(({ messages: before, wanted }) => [before.length, wanted?.name ?? null]),
      [
        [1, 'balance'],
        [4, null],
      ],
    );
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
  it('count a rejected chat as rejected, and not as declined', async () => {
    const post = async (): Promise<never> => {
      throw new Error('POST /v1/chat/completions answered 400: too long');
    };
    const part = { name: 'animals', set, amount: { passages: 2 }, most: 1 };
    const { columns, rows } = await questionTable(
      { post } as unknown as ServiceClient,
      [{ id: 'm', name: 'm' }],
      part,
      0,
    );
    const cells = Object.fromEntries(columns.map(({ name }, i) => [name, rows[0]?.cells[i]]));
    assert.deepEqual([cells['unanswerable declined'], cells['answered'], cells['rejected']], [0, 0, 2]);
  });
  it('of one half are none of the other', () => {
    assert.deepEqual([chosenOf(set, 0, 9), chosenOf(set, 1, 1)], [new Set([0, 2]), new Set([1])]);
  });
});
