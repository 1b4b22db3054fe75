import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnswerServices } from '@quire/bundled-models';
import type { Passage } from '../../../packages/bundled-models/src/chat/passage-formats.ts';
import { selectSections } from '../../../packages/bundled-models/src/chat/select-sections.ts';
import { answerServices } from './bundled-chat.ts';

/** Scores documents by the first of the texts that they contain; records the queries. */
function rankBy(scores: Readonly<Record<string, number>>): AnswerServices & { queries: string[] } {
  const ranker = {
    queries: [] as string[],
    rerank: async ({ query, documents }: { query: string; documents: readonly string[] }) => {
      ranker.queries.push(query);
      const score = (text: string) => Object.entries(scores).find(([part]) => text.includes(part))?.[1] ?? 0;
      return { scores: documents.map(score), tokens: 1 };
    },
  };
  return Object.assign(answerServices(ranker), { queries: ranker.queries });
}
const never = new AbortController().signal;
const select = async (passages: readonly Passage[], question: string, scores: Readonly<Record<string, number>>) => {
  const found = await selectSections(passages, question, rankBy(scores), never);
  return found && { ...found.sections[0], fit: found.fit, sources: found.sections.map(({ source }) => source) };
};

const fees = (year: number, price: number): Passage => ({
  title: `fees-${year}.md`,
  text: `# Fees\n\nA berth in the harbour costs ${price} pounds a day, electricity included.`,
  modifiedAt: Date.UTC(year, 0, 1) / 1_000,
});

describe('selectSections', () => {
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
      (await select([fees(2021, 20), other], question, { '20 pounds': 0.6, insured: 0.4 }))?.text ?? '',
      /20/,
    );
    const worse = await select([fees(2021, 20), fees(2024, 25)], question, { '20 pounds': 0.6, '25 pounds': 0.3 });
    assert.equal(worse?.source, 'fees-2021.md > Fees');
  });
  it('needs less in plain text than below a heading of no relevance, and more in Vietnamese', async () => {
    const fit = async (text: string, question: string, score: number) =>
      (await select([{ title: 'a.txt', text }], question, { '': score }))?.fit;
    const [headed, plain] = ['# Fees\n\nA berth costs 20 pounds.', 'A berth costs 20 pounds.'];
    for (const [text, question, close, answer] of [
      [headed, 'How much is a mooring?', 0.0013, 0.9239],
      [headed, 'Một bến giá bao nhiêu?', 0.0252, 0.9269],
      [plain, 'How much is a mooring?', 0.0138, 0.6733],
      [plain, 'Một bến giá bao nhiêu?', 0.5525, 0.849],
      [plain, 'ท่าเรือราคาเท่าไร', 0.0961, 0.3409],
      [plain, '泊位多少钱', 0.0961, 0.2903],
    ] as const) {
      const fits = [close * 0.95, close * 1.05, answer * 0.95, answer * 1.05].map((score) =>
        fit(text, question, score),
      );
      assert.deepEqual(await Promise.all(fits), ['none', 'close', 'close', 'answer'], question);
    }
  });
  it('needs less when no other text scores nearly as high', async () => {
    const text = '# Animals\n\nHens are allowed.\n\n# Fires\n\nNo fires in summer.';
    const fit = async (others: number) =>
      (
        await select([{ title: 'rules.md', text }], 'May I keep chickens?', {
          Hens: 0.07,
          Animals: 0.5,
          fires: others,
        })
      )?.fit;
    assert.deepEqual([await fit(0.05), await fit(0.01)], ['close', 'answer']);
  });
  it('ranks the sentences of a section behind its heading, and takes the best', async () => {
    const text = '# Animals\n\nDogs stay at home. Hens are allowed.\n\n# Fires\n\nNo fires in summer.';
    const scores = { 'Animals: Hens are allowed.': 0.3 };
    const found = await select([{ title: 'rules.md', text }], 'May I keep chickens?', scores);
    assert.deepEqual(found?.sources, ['rules.md > Animals']);
    assert.equal(found?.text, 'Dogs stay at home. Hens are allowed.');
  });
  it('answers with two short sections below their headings when they rank nearly the same', async () => {
    const sources = async (text: string, second: number) =>
      (await select([{ title: 'plots.md', text }], 'How do I give up my plot?', { Getting: 0.4, Giving: second }))
        ?.sources;
    const text = (body: string) => `# Getting a plot\n\nAsk the office.\n\n# Giving up a plot\n\n${body}`;
    const both = ['plots.md > Getting a plot', 'plots.md > Giving up a plot'];
    assert.deepEqual(await sources(text('Write a letter.'), 0.33), both);
    assert.deepEqual(await sources(text('Write a letter.'), 0.001), both.slice(0, 1));
    assert.deepEqual(await sources(text(`${'Write a long letter. '.repeat(66)}Now.`), 0.33), both.slice(0, 1));
    assert.deepEqual(await sources('Getting a plot: ask.\n\nGiving up a plot: write.', 0.33), ['plots.md']);
  });
  it('asks with neighbouring words joined too, where the passages write them as one', async () => {
    const ranker = rankBy({});
    const passage = { title: 'a.md', text: '# Backup\n\nCopy the folder. Set it up first.' };
    await selectSections([passage], 'How do I back up or set up?', ranker, never);
    assert.deepEqual(ranker.queries, ['How do I back up or set up?', 'How do I backup or set up?']);
  });
  it('reranks at most 384 distinct sentences', async () => {
    const read = (from: number) => Array.from({ length: 60 }, (_, i) => `Sentence ${from + i} is short.`).join(' ');
    const passages = Array.from({ length: 10 }, (_, i) => ({ title: `${i}.md`, text: `# Long\n\n${read(60 * i)}` }));
    let most = 0;
    const rerank: AnswerServices['rerank'] = async ({ documents }) => {
      most = Math.max(most, documents.filter((document) => document.includes(': ')).length);
      return { scores: documents.map(() => 0) };
    };
    await selectSections(passages, 'What is long?', { ...rankBy({}), rerank }, never);
    assert.equal(most, 384);
  });
  it('trusts the search that ranks its passage far before the others', async () => {
    const fit = async (others: number) => {
      const [first, second] = [fees(2021, 20), { title: 'b.md', text: '# Boats\n\nInsure them.', score: others }];
      return (await select([{ ...first, score: 0.3 }, second], 'How much is a mooring?', { pounds: 0.1 }))?.fit;
    };
    assert.deepEqual([await fit(0.29), await fit(0.1)], ['close', 'answer']);
  });
  it('does not answer below a heading by a chance word of a small collection', async () => {
    const passage = { title: 'a.md', text: '# Brew group\n\nThe brew group is warm.', score: 0.19 };
    const fit = async (score: number) =>
      (await select([{ ...passage, score }], 'Can I brew tea?', { 'Brew group': 0.05 }))?.fit;
    assert.deepEqual([await fit(0.19), await fit(0.2)], ['close', 'answer']);
  });
  it('quotes two windows of one section that do not overlap, and never a table of contents', async () => {
    const rows = (name: string) => Array.from({ length: 30 }, (_, i) => `${name} ${i} does something.\n\n`).join('');
    const text = `# Options\n\n${rows('Alpha')}The first place.\n\n${rows('Beta')}The second place.\n\n${rows('Gamma')}`;
    const contents = `# Contents\n\nThe first place${' .'.repeat(30)} 7\n\nThe second place${' .'.repeat(30)} 9`;
    const passages = [
      { title: 'a.md', text },
      { title: 'b.md', text: contents },
    ];
    const found = await selectSections(passages, 'Where?', rankBy({ place: 0.8 }), never);
    assert.equal(found?.sections.length, 2);
    assert.match(found?.sections[0].text ?? '', /first place/);
    assert.match(found?.sections[1]?.text ?? '', /second place/);
    assert.equal(await select(passages.slice(1), 'Where?', { place: 0.8 }), null);
  });
  it('returns null without text', async () => {
    assert.equal(await select([{ title: 'a.md', text: '# Only a heading' }], 'Fees?', {}), null);
  });
});
