import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expectAnswer, formatLines, fromRow, pairResults, parseLines, type Question, toRow } from './questions.ts';

describe('questions of a set', () => {
  for (const question of [
    { question: 'When "exactly"?', answer: 'nine' },
    { question: 'When?', facts: ['nine', ['27', 'twenty-seven']], document: 'a b.pdf', passage: 'It opens\nat nine.' },
    { question: 'When?', facts: [['9', 'nine']] },
    { question: 'Who?', unanswerable: true },
    { question: 'Where?', document: 'a.pdf' },
  ] satisfies Question[]) {
    it(`come back from the table and from JSON lines: ${JSON.stringify(question)}`, () => {
      assert.deepEqual(fromRow(toRow(question)), question);
      assert.deepEqual(parseLines(formatLines([question, question])), {
        questions: [question, question],
        badLine: null,
      });
    });
  }
  it('ignore blank facts and alternatives', () => {
    assert.deepEqual(fromRow({ ...toRow({ question: ' When? ' }), facts: ' nine | \n\n | \n' }), {
      question: 'When?',
      answer: 'nine',
    });
  });
  it('converts an answer to one fact that the API accepts', () => {
    const facts = expectAnswer(' | a | b |\n|---|---|\n\nIt opens\tat "nine". ');
    const question = { question: 'When?', answer: 'a b --- --- It opens at "nine".' };
    assert.deepEqual(fromRow({ ...toRow({ question: 'When?' }), facts }), question);
    assert.equal(expectAnswer(`${'x'.repeat(1_001)}\n`).length, 1_000);
  });
  it('name the first bad line', () => {
    for (const bad of ['{', '[]', 'null', '{"answer": "nine"}', '{"question": 1}'])
      assert.equal(parseLines(`\n{"question": "When?"}\r\n\n${bad}\n{`).badLine, 4, bad);
  });
});

describe('results of two runs', () => {
  const result = (question: string, measures: Record<string, number>) =>
    ({ question: { question }, measures }) as never;
  it('are paired by question, and better or worse by the answer first', () => {
    const pairs = pairResults(
      [
        result('a', { answers_correct: 1, mrr: 0.5 }),
        result('b', { answers_correct: 0, answers_declined: 0 }),
        result('c', { mrr: 0.5 }),
        result('d', { mrr: 1 }),
        result('e', { mrr: 1 }),
      ],
      [
        result('e', { mrr: 1 }),
        result('c', { mrr: 1 }),
        result('b', { answers_correct: 0, answers_declined: 1 }),
        result('a', { answers_correct: 0, mrr: 1 }),
      ],
    );
    assert.deepEqual(
      pairs.map(({ change, before }) => [change, before !== null]),
      [
        ['better', true],
        ['worse', true],
        ['worse', true],
        ['same', false],
        ['same', true],
      ],
    );
  });

  it('are compared by the scores of one judge model, where both results have one', () => {
    const scored = (question: string, verdict: string | null) =>
      ({
        question: { question },
        measures: { answers_correct: 0, judge_right: Number(verdict === 'right'), mrr: 1 },
        judgement: { verdict },
      }) as never;
    const now = [scored('a', 'right'), scored('b', 'wrong'), scored('c', null)];
    const before = [scored('a', 'wrong'), scored('b', 'right'), scored('c', 'right')];
    const changes = (isJudged: boolean) => pairResults(now, before, isJudged).map(({ change }) => change);
    assert.deepEqual(changes(true), ['better', 'worse', 'same']);
    assert.deepEqual(changes(false), ['same', 'same', 'same']);
  });

  it('are not better because only one run answers', () => {
    const [pair] = pairResults([result('a', { answers_correct: 1, mrr: 0.5 })], [result('a', { mrr: 1 })]);
    assert.equal(pair?.change, 'worse');
  });
});
