import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bootstrapInterval, seededRandom } from './bootstrap.ts';
import { compareMeasures, type MeasuredQuestion } from './compare-evaluations.ts';
import { containsFact, coversPassage, normalizeTokens } from './evidence.ts';
import { averageMeasures, isDeclined, measureAnswer, measureRetrieval, percentile, rankEvidence } from './measures.ts';
import type { Question } from './schema.ts';

const hit = (text: string, documentName = 'a.txt') => ({ text, documentName, documentId: `doc_${documentName}` });

describe('a fact in an answer', () => {
  for (const [answer, fact] of [
    ['It costs €1,250.50 a year.', '1250.50'],
    ['Es kostet 1.250,50 € im Jahr.', '1,250.50'],
    ["12'345'678 people", '12.345.678'],
    ['12\u202f345 people', '12,345'],
    ['It opens at “Nine o’clock”, they say.', "nine o'clock"],
    ['**Move** your spending to a *debit card*', 'spending to a debit card'],
    ['65°C', '65 °C'],
    ['図書館は九時に開きます。', '九時'],
    ['ﬁve', 'five'],
  ] as const) {
    it(`is contained: ${fact} in ${answer}`, () => assert.ok(containsFact(normalizeTokens(answer), fact)));
  }
  for (const [answer, fact] of [
    ['It takes 15 days.', '5'],
    ['It takes 5.5 days.', '5'],
    ['in 2024, 100 people', '2024100'],
    ['the carpet', 'car'],
    ['12 %', '12 €'],
  ] as const) {
    it(`is not contained: ${fact} in ${answer}`, () => assert.ok(!containsFact(normalizeTokens(answer), fact)));
  }
  it('has alternatives', () => {
    assert.ok(containsFact(normalizeTokens('at nine'), ['9:00', 'nine']));
    assert.ok(!containsFact(normalizeTokens('at ten'), ['9:00', 'nine']));
  });
});

describe('a passage in a chunk', () => {
  const passage = normalizeTokens('The library in Ashford opens at nine.');
  it('is covered from half of its runs of three words on', () => {
    // Five runs: three of them, then two.
    assert.ok(coversPassage(normalizeTokens('... in Ashford opens at nine. Then'), passage));
    assert.ok(!coversPassage(normalizeTokens('Ashford opens at nine. Then'), passage));
  });
  it('is compared whole when it has fewer than three words', () => {
    assert.ok(coversPassage(normalizeTokens('a debit card here'), normalizeTokens('Debit card')));
    assert.ok(!coversPassage(normalizeTokens('a debit here'), normalizeTokens('Debit card')));
  });
});

describe('measures of a search', () => {
  const question: Question = { question: 'q', facts: ['nine', ['27', 'twenty-seven']] };
  it('are those computed by hand', () => {
    const hits = [
      hit('nothing'),
      hit('It opens at nine.'),
      hit('nine again'),
      ...Array(6).fill(hit('x')),
      hit('27 degrees'),
    ];
    const ranks = rankEvidence(question, hits);
    assert.deepEqual(ranks, [2, 10]);
    const measures = measureRetrieval(ranks);
    // DCG: 1 / log2(3) + 1 / log2(11); ideal: 1 + 1 / log2(3).
    const ndcg = (0.6309297535714575 + 0.2890648263178879) / 1.6309297535714575;
    assert.ok(Math.abs((measures['ndcg@10'] ?? 0) - ndcg) < 1e-12);
    assert.deepEqual(
      { ...measures, 'ndcg@10': 0 },
      { 'recall@1': 0, 'recall@5': 0.5, 'recall@20': 1, 'ndcg@10': 0, mrr: 0.5 },
    );
  });
  it('do not exceed 1 when one hit holds all the evidence', () => {
    assert.deepEqual(measureRetrieval(rankEvidence(question, [hit('nine, 27')])), {
      'recall@1': 1,
      'recall@5': 1,
      'recall@20': 1,
      'ndcg@10': 1,
      mrr: 1,
    });
  });
  it('are 0 without evidence among the hits, and count rank 11 in recall only', () => {
    assert.deepEqual(measureRetrieval([null]), { 'recall@1': 0, 'recall@5': 0, 'recall@20': 0, 'ndcg@10': 0, mrr: 0 });
    assert.deepEqual(measureRetrieval([11]), {
      'recall@1': 0,
      'recall@5': 0,
      'recall@20': 1,
      'ndcg@10': 0,
      mrr: 1 / 11,
    });
  });
  it('count evidence in the expected document only, by name or id', () => {
    const hits = [hit('nine', 'b.txt'), hit('nine')];
    assert.deepEqual(rankEvidence({ question: 'q', answer: 'nine', document: 'a.txt' }, hits), [2]);
    assert.deepEqual(rankEvidence({ question: 'q', answer: 'nine', document: 'doc_b.txt' }, hits), [1]);
    assert.deepEqual(rankEvidence({ question: 'q', document: 'a.txt' }, hits), [2]);
  });
  it('do not apply to unanswerable questions', () => {
    assert.deepEqual(measureRetrieval(rankEvidence({ question: 'q', unanswerable: true }, [hit('x')])), {});
  });
});

describe('measures of an answer', () => {
  const question: Question = { question: 'q', answer: 'nine' };
  const declined = 'I could not find this in the documents. The closest passage:\n> It opens at nine.';
  it('tell correct, wrong and declined answers apart', () => {
    const cited = [hit('It opens at nine.')];
    assert.deepEqual(measureAnswer(question, { text: 'At nine.', cited }), {
      answers_correct: 1,
      answers_wrong: 0,
      answers_declined: 0,
      citations_correct: 1,
    });
    assert.deepEqual(measureAnswer(question, { text: 'At ten.', cited: [hit('at ten')] }), {
      answers_correct: 0,
      answers_wrong: 1,
      answers_declined: 0,
      citations_correct: 0,
    });
    assert.deepEqual(measureAnswer(question, { text: declined, cited: [] }), {
      answers_correct: 0,
      answers_wrong: 0,
      answers_declined: 1,
    });
  });
  it('want every fact', () => {
    const both: Question = { question: 'q', facts: ['nine', 'ten'] };
    assert.equal(measureAnswer(both, { text: 'nine', cited: [] }).answers_correct, 0);
    assert.equal(measureAnswer(both, { text: 'ten to nine', cited: [] }).answers_correct, 1);
  });
  it('are refusals for unanswerable questions', () => {
    const unanswerable: Question = { question: 'q', unanswerable: true };
    assert.deepEqual(measureAnswer(unanswerable, { text: declined, cited: [] }), { refusals_correct: 1 });
    assert.deepEqual(measureAnswer(unanswerable, { text: 'At nine.', cited: [] }), { refusals_correct: 0 });
  });
  it('recognize answers that decline in English and German', () => {
    for (const text of [
      '',
      'Das konnte ich in den Dokumenten nicht finden.',
      'The documents do not mention it.',
      'Sorry, I couldn’t find it.',
    ])
      assert.ok(isDeclined(text), text);
    for (const text of ['Nine.', 'Das Haus öffnet um neun. Mehr ist nicht enthalten.', 'It does not open.'])
      assert.ok(!isDeclined(text), text);
  });
});

describe('figures over questions', () => {
  it('are means over the questions that a measure applies to', () => {
    assert.deepEqual(averageMeasures([{ mrr: 1 }, { mrr: 0.5 }, { refusals_correct: 1, cost_micros: 3 }]), [
      { name: 'mrr', value: 0.75, questions: 2 },
      { name: 'refusals_correct', value: 1, questions: 1 },
    ]);
  });
  it('are percentiles by nearest rank', () => {
    assert.equal(percentile([], 0.5), null);
    assert.deepEqual(
      [0.5, 0.95, 1].map((share) => percentile([4, 1, 3, 2], share)),
      [2, 4, 4],
    );
    assert.equal(
      percentile(
        Array.from({ length: 100 }, (_, i) => i + 1),
        0.95,
      ),
      95,
    );
  });
});

describe('the paired bootstrap', () => {
  it('has the interval of the exact distribution for differences of which half are 1', () => {
    // The mean of 100 draws of 0 or 1 is binomial: its 2.5 % and 97.5 % quantiles are 0.40 and 0.60.
    const differences = Array.from({ length: 100 }, (_, i) => i % 2);
    const { low, high } = bootstrapInterval(differences, 0.95, 1);
    assert.ok(Math.abs(low - 0.4) <= 0.011 && Math.abs(high - 0.6) <= 0.011, `${low} ${high}`);
    assert.deepEqual(bootstrapInterval(differences, 0.95, 1), { low, high });
    assert.notDeepEqual(seededRandom(1)(), seededRandom(2)());
  });
  it('is a point for equal differences', () => {
    assert.deepEqual(bootstrapInterval([0.5, 0.5], 0.95, 0), { low: 0.5, high: 0.5 });
  });
});

describe('a comparison', () => {
  const run = (values: readonly number[], name = 'recall@5'): MeasuredQuestion[] =>
    values.map((value, i) => ({ question: { question: `q${i}`, answer: 'a' }, measures: { [name]: value } }));
  const ones = Array(20).fill(1);
  const dropped = ones.map((_, i) => (i < 12 ? 0 : 1));
  const verdict = async (before: MeasuredQuestion[], after: MeasuredQuestion[]) =>
    (await compareMeasures(before, after, 0)).verdict;

  it('says worse, better, or that it cannot tell', async () => {
    assert.equal(await verdict(run(ones), run(dropped)), 'worse');
    assert.equal(await verdict(run(dropped), run(ones)), 'better');
    assert.equal(await verdict(run(ones), run(ones)), 'unclear');
    assert.equal(await verdict(run(ones), run([0, ...ones.slice(1)])), 'unclear');
  });
  it('knows that fewer wrong answers are better, and that cost and time are no quality', async () => {
    assert.equal(await verdict(run(ones, 'answers_wrong'), run(dropped, 'answers_wrong')), 'better');
    assert.equal(await verdict(run(ones, 'cost_micros'), run(dropped, 'cost_micros')), 'unclear');
  });
  it('pairs equal questions only, in any order of keys, and says nothing about few', async () => {
    const swapped = run(dropped).map(({ question, measures }) => ({
      question: { answer: 'a', ...question },
      measures,
    }));
    const { questions, measures } = await compareMeasures(run(ones), swapped.toReversed(), 0);
    assert.deepEqual([questions, measures[0]?.baseline, measures[0]?.value], [20, 1, 0.4]);
    const other = run(dropped).map(({ question, measures }) => ({ question: { ...question, answer: 'b' }, measures }));
    const nothing = { questions: 0, verdict: 'unclear', judged: 'neither', measures: [] };
    assert.deepEqual(await compareMeasures(run(ones), other, 0), nothing);
    assert.equal(await verdict(run(ones.slice(0, 7)), run(Array(7).fill(0))), 'unclear');
    assert.equal(await verdict(run(ones.slice(0, 8)), run(Array(8).fill(0))), 'worse');
  });
  it('is mixed when measures disagree', async () => {
    const both = (first: number[], second: number[]) =>
      run(first).map((one, i) => ({ ...one, measures: { ...one.measures, mrr: second[i] ?? 0 } }));
    assert.equal(await verdict(both(ones, dropped), both(dropped, ones)), 'mixed');
  });
});
