import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { trainedStem } from '../english.ts';
import { extractEntities, questionType } from './answer-type.ts';
import { eachUnit } from './query.ts';
import { Reranker, readRerankFile } from './reranker.ts';

const weights = readFileSync(new URL('../../models/quire-rerank-2.bin', import.meta.url));
const embedder = readFileSync(new URL('../../models/quire-embed-1.bin', import.meta.url));

describe('Reranker', () => {
  const reranker = new Reranker(weights, embedder);
  const score = (query: string, document: string) => reranker.score(query, document).score;
  /** Asserts that the first document scores higher than each of the others. */
  const prefers = (query: string, right: string, ...wrong: string[]) => {
    for (const other of wrong) {
      assert.ok(
        score(query, right) > score(query, other),
        `${score(query, right)} and ${score(query, other)}: ${other}`,
      );
    }
  };

  it('ranks the sentence that answers above others that share words with the question', () => {
    prefers(
      'When was the bridge over the Tamar opened?',
      'The bridge over the river Tamar was opened by Prince Albert on 2 May 1859.',
      'The bridge over the river Tamar is made of wrought iron.',
      'The railway station was opened in 1848.',
      'The Tamar is a river in the south west of England.',
    );
    prefers(
      'Who wrote the report on water quality?',
      'The report on water quality was written by Maria Lindqvist of the harbour office.',
      'Water quality is measured every week at four places in the harbour.',
      'The report on noise was read by the council in June.',
    );
  });

  it('matches inflected forms and synonyms', () => {
    prefers(
      'how to delete a file',
      'Removing files from a folder: select them and press Delete.',
      'The weather was cold and wet all week.',
    );
    assert.ok(score('physician', 'The doctor saw the patient.') > score('physician', 'The bus left the station.'));
  });

  it('matches the end of a long document', () => {
    const filling = 'The members of the committee agreed on most points of the plan. '.repeat(300);
    const answer = 'The library opens at nine on Saturdays.';
    prefers('When does the library open on Saturdays?', filling + answer, filling);
  });

  it('matches words in scripts without spaces', () => {
    prefers('図書館は何時に開きますか', '図書館は土曜日の九時に開きます', '昨日は雨が降りました');
    prefers('图书馆几点开门', '图书馆星期六九点开门', '昨天下了一天的雨');
  });

  it('scores a document independently of earlier calls', () => {
    const once = score('library hours', 'The library opens at nine.');
    for (let i = 0; i < 10; i++) score(`query ${i}`, `document ${i} with the library`);
    assert.equal(score('library hours', 'The library opens at nine.'), once);
    assert.equal(new Reranker(weights, embedder).score('library hours', 'The library opens at nine.').score, once);
  });

  it('scores a blank document 0, with no tokens', () => {
    for (const blank of ['', ' ', '\n\t\u00a0']) assert.deepEqual(reranker.score('a', blank), { score: 0, tokens: 0 });
  });

  it('reads a query of a megabyte and a word of a megabyte in bounded time and memory', () => {
    const long = 'all sorts of different words '.repeat(30_000);
    assert.ok(reranker.countQueryTokens(long) < 1_000);
    assert.ok(reranker.score('x'.repeat(1_000_000), 'x'.repeat(1_000_000)).score > 0);
    assert.ok(reranker.score(long, long).score > 0);
  });

  it('rejects other files, truncated files and weights of another embedding model', () => {
    assert.throws(() => new Reranker(new Uint8Array(0), embedder), /not a rerank model/);
    assert.throws(() => readRerankFile(weights.subarray(0, weights.length - 1)), /truncated/);
    assert.throws(() => readRerankFile(weights.subarray(0, 40)), /truncated/);
    assert.throws(() => new Reranker(weights, embedder.subarray(1)), /another embedding model/);
  });
});

describe('trainedStem', () => {
  it('maps forms of an English word to one stem', () => {
    for (const forms of [
      ['open', 'opens', 'opened', 'opening'],
      ['library', 'libraries'],
      ['invent', 'invented', 'inventing', 'invention'],
      ['stop', 'stopped', 'stopping'],
      ['compute', 'computed', 'computing', 'computer'],
    ]) {
      assert.equal(new Set(forms.map(trainedStem)).size, 1, forms.map(trainedStem).join(' '));
    }
  });

  it('returns short words, numbers and words of other languages unchanged', () => {
    for (const word of ['bus', 'is', '1990s', 'größen', 'данные', 'class', '']) assert.equal(trainedStem(word), word);
  });
});

describe('questionType', () => {
  const documents = {
    time: 'The bridge was opened in 1859.',
    number: 'About forty people live there.',
    name: 'The pump was designed by Maria Lindqvist.',
    place: 'The pump was built in Oxford.',
    none: 'the bridge is old.',
  };
  it('accepts an expression of the type that a question asks for, and no other', () => {
    for (const [question, accepted] of [
      ['When was it built?', ['time']],
      ['In what year did she leave?', ['time']],
      ['Who invented it?', ['name', 'place']],
      ['Which city is the largest?', ['place']],
      ['How many people live there?', ['time', 'number']],
    ] as const) {
      const test = questionType(question).matchAnswer;
      for (const [type, document] of Object.entries(documents)) {
        assert.equal(test(document), accepted.some((each) => each === type) ? 1 : -1, `${question} ${document}`);
      }
    }
  });

  it('rejects an expression that the question contains', () => {
    assert.equal(questionType('Who built the bridge in 1859?').matchAnswer('It was built in 1859.'), -1);
    assert.equal(questionType('When was the bridge of 1859 painted?').matchAnswer('It was opened in 1859.'), -1);
  });

  it('is 0 for other questions', () => {
    for (const question of ['What is it made of?', 'Why did it fail?', 'opening hours library'])
      for (const document of Object.values(documents)) assert.equal(questionType(question).matchAnswer(document), 0);
  });
});

describe('extractEntities', () => {
  it('returns numbers and names that do not start the query', () => {
    assert.deepEqual(extractEntities('When did Ada Lovelace meet 1,500 people in Paris?'), [
      '1,500',
      'ada',
      'lovelace',
      'paris',
    ]);
    assert.deepEqual(extractEntities('opening hours'), []);
  });
});

describe('eachUnit', () => {
  it('gives words, and pairs of characters in scripts without spaces', () => {
    const units: string[] = [];
    eachUnit('The 図書館 opens 九', (unit) => units.push(unit) > 0);
    assert.deepEqual(units, ['the', '図書', '書館', 'opens', '九']);
  });
});
