import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Passage } from './passage-formats.ts';
import type { AnswerRanker } from './select-answer.ts';
import { selectSection } from './select-section.ts';

/** Scores documents by the first of the texts that they contain; records the query. */
function rankBy(scores: Readonly<Record<string, number>>): AnswerRanker & { query: string } {
  const ranker = {
    query: '',
    rerank: async ({ query, documents }: { query: string; documents: readonly string[] }) => {
      ranker.query = query;
      const score = (text: string) => Object.entries(scores).find(([part]) => text.includes(part))?.[1] ?? 0;
      return { scores: documents.map(score), tokens: 1 };
    },
  };
  return ranker;
}
const never = new AbortController().signal;
const select = (passages: readonly Passage[], question: string, scores: Readonly<Record<string, number>>) =>
  selectSection(passages, question, rankBy(scores), never);

const fees = (year: number, price: number): Passage => ({
  title: `fees-${year}.md`,
  text: `# Fees\n\nA berth in the harbour costs ${price} pounds a day, electricity included.`,
  modifiedAt: Date.UTC(year, 0, 1) / 1_000,
});

describe('selectSection', () => {
  it('prefers the newest of versions of one text, and the better of different texts', async () => {
    const question = 'What does a berth cost?';
    const found = await select([fees(2021, 20), fees(2024, 25), fees(2019, 15)], question, {
      '20 pounds': 0.6,
      '25 pounds': 0.55,
      '15 pounds': 0.61,
    });
    assert.equal(found?.source, 'fees-2024.md > Fees');
    const other = { ...fees(2024, 25), text: '# Boats\n\nBoats must be insured for what a berth may cost.' };
    assert.match(
      (await select([fees(2021, 20), other], question, { '20 pounds': 0.6, Boats: 0.59 }))?.text ?? '',
      /20/,
    );
    const worse = await select([fees(2021, 20), fees(2024, 25)], question, { '20 pounds': 0.6, '25 pounds': 0.3 });
    assert.equal(worse?.source, 'fees-2021.md > Fees');
  });
  it('needs less below a heading than in plain text, and more in Vietnamese and Thai', async () => {
    const fit = async (text: string, question: string, score: number) =>
      (await select([{ title: 'a.txt', text }], question, { '': score }))?.fit;
    const [headed, plain] = ['# Fees\n\nA berth costs 20 pounds.', 'A berth costs 20 pounds.'];
    for (const [text, question, close, answer] of [
      [headed, 'What does a berth cost?', 0.02, 0.1],
      [plain, 'What does a berth cost?', 0.1, 0.2],
      [plain, 'Một bến giá bao nhiêu?', 0.2, 0.3],
      [plain, 'ท่าเรือราคาเท่าไร', 0.15, 0.2],
    ] as const) {
      const fits = [close - 0.01, close, answer - 0.01, answer].map((score) => fit(text, question, score));
      assert.deepEqual(await Promise.all(fits), ['none', 'close', 'close', 'answer'], question);
    }
  });
  it('joins words of the question that the passages write as one', async () => {
    const ranker = rankBy({});
    const passage = { title: 'a.md', text: '# Backup\n\nCopy the folder. Set it up first.' };
    await selectSection([passage], 'How do I back up or set up?', ranker, never);
    assert.equal(ranker.query, 'How do I backup or set up?');
  });
  it('returns null without text', async () => {
    assert.equal(await select([{ title: 'a.md', text: '# Only a heading' }], 'Fees?', {}), null);
  });
});
