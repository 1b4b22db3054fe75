/**
 * Conformance suite of `RerankEngine` (`src/engines/rerank-engine.ts`). Queries and documents are unambiguous, so that
 * every usable model passes.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RerankEngine } from '../src/engines/rerank-engine.ts';
import { never, type Subject, testAbortAndClose, testReadiness, useSubject } from './task-engine.ts';

const QUERY = 'When does the library open on Saturdays?';
const ANSWER = 'The library opens at nine on Saturdays.';
const OTHERS = [
  'Boil the pasta for eleven minutes and drain it.',
  'The company was founded by two engineers in a garage.',
  'Rabbits eat grass, leaves and bark.',
];
const LONG = 'The members of the committee agreed on most points of the plan. '.repeat(200);

/** Differences that an implementation may declare. */
export interface RerankTraits {
  /** False for models with random weights: ranking quality is not checked. */
  judges?: boolean;
}

/** Registers the suite for one implementation. `start` is called once. */
export function rerankConformance(
  name: string,
  start: () => Promise<Subject<RerankEngine>>,
  { judges = true }: RerankTraits = {},
): void {
  describe(`a rerank engine: ${name}`, () => {
    const subject = useSubject(start);
    const judge = async (documents: readonly string[], query = QUERY) =>
      (await subject.engine.rerank({ query, documents }, never)).scores;

    testReadiness(subject);

    it('scores every document from 0 to 1, in order, and counts tokens', async () => {
      const documents = [...OTHERS, ANSWER, ...OTHERS];
      const { scores, tokens } = await subject.engine.rerank({ query: QUERY, documents }, never);
      assert.equal(scores.length, documents.length);
      for (const score of scores) assert.ok(score >= 0 && score <= 1, String(score));
      assert.deepEqual(scores.slice(0, 3), scores.slice(4));
      assert.ok(Number.isInteger(tokens) && tokens > 40, String(tokens));
    });

    it('ranks relevant documents before irrelevant ones', { skip: !judges }, async () => {
      const [answer, ...others] = await judge([ANSWER, ...OTHERS]);
      for (const other of others) assert.ok(answer! > other + 0.2, `${answer} and ${other}`);
    });

    it('scores a document independently of other documents and concurrent calls', async () => {
      const [alone] = await judge([ANSWER]);
      const many = Array.from({ length: 999 }, (_, i) => `${OTHERS[i % 3]} ${i}`);
      const [crowd, ...single] = await Promise.all([
        judge([...many, ANSWER]),
        ...Array.from({ length: 20 }, () => judge([ANSWER])),
      ]);
      assert.equal(crowd.length, 1000);
      assert.equal(crowd[999], alone);
      for (const scores of single) assert.deepEqual(scores, [alone]);
    });

    it('scores an empty document 0', async () => {
      const [blank, answer, empty] = await judge([' \n\t', ANSWER, '']);
      assert.deepEqual([blank, empty], [0, 0]);
      assert.ok(answer! > 0);
      assert.deepEqual(await judge(['', ' ']), [0, 0]);
    });

    it('accepts queries and documents in any script, without words, and with unusual characters', async () => {
      const texts = [
        '\u0000',
        '。',
        '図書館は土曜日の九時に開きます',
        '图书馆星期六九点开门',
        'تفتح المكتبة في التاسعة أيام السبت',
        '😀'.repeat(40),
        '\ud800',
        '\u200b',
        'a',
        '???',
      ];
      for (const query of texts) assert.equal((await judge(texts, query)).length, texts.length);
    });

    it('accepts a document of a megabyte, even of one word', async () => {
      const scores = await judge(['x'.repeat(1_000_000), 'ab '.repeat(333_333), '漢'.repeat(300_000)]);
      assert.equal(scores.length, 3);
    });

    testAbortAndClose(subject, {
      short: async (signal) => {
        const { scores } = await subject.engine.rerank({ query: QUERY, documents: [ANSWER] }, signal);
        assert.ok(scores[0]! > 0);
      },
      long: (signal) => subject.engine.rerank({ query: QUERY, documents: Array<string>(500).fill(LONG) }, signal),
    });
  });
}
