import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { kindOf } from './kinds.ts';
import { Reranker } from './reader.ts';
import { stemOf } from './stems.ts';
import { readRerankWeights } from './weights.ts';
import { eachUnit } from './words.ts';

const weights = readFileSync(new URL('../../../../models/quire-rerank-1.bin', import.meta.url));
const embedder = readFileSync(new URL('../../../../models/quire-embed-1.bin', import.meta.url));

describe('the rerank model', () => {
  const reranker = new Reranker(weights, embedder);
  const score = (query: string, document: string) => reranker.judge(query, document).score;
  /** Asserts that the first document scores highest. */
  const prefers = (query: string, right: string, ...wrong: string[]) => {
    for (const other of wrong) {
      assert.ok(
        score(query, right) > score(query, other),
        `${score(query, right)} and ${score(query, other)}: ${other}`,
      );
    }
  };

  it('finds the sentence that answers, where others share words with the question', () => {
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

  it('finds a match in other forms of the words and in words that mean alike', () => {
    prefers(
      'how to delete a file',
      'Removing files from a folder: select them and press Delete.',
      'The weather was cold and wet all week.',
    );
    assert.ok(score('physician', 'The doctor saw the patient.') > score('physician', 'The bus left the station.'));
  });

  it('finds a match at the end of a long document', () => {
    const filling = 'The members of the committee agreed on most points of the plan. '.repeat(300);
    const answer = 'The library opens at nine on Saturdays.';
    prefers('When does the library open on Saturdays?', filling + answer, filling);
  });

  it('finds equal words in scripts that are written without spaces', () => {
    prefers('図書館は何時に開きますか', '図書館は土曜日の九時に開きます', '昨日は雨が降りました');
    prefers('图书馆几点开门', '图书馆星期六九点开门', '昨天下了一天的雨');
  });

  it('scores a document alike whatever was judged before', () => {
    const once = score('library hours', 'The library opens at nine.');
    for (let i = 0; i < 10; i++) score(`query ${i}`, `document ${i} with the library`);
    assert.equal(score('library hours', 'The library opens at nine.'), once);
    assert.equal(new Reranker(weights, embedder).judge('library hours', 'The library opens at nine.').score, once);
  });

  it('gives 0 and no tokens for a document without text', () => {
    for (const blank of ['', ' ', '\n\t\u00a0']) assert.deepEqual(reranker.judge('a', blank), { score: 0, tokens: 0 });
  });

  it('reads a query of a megabyte and a word of a megabyte in bounded time and memory', () => {
    const long = 'all sorts of different words '.repeat(30_000);
    assert.ok(reranker.tokensOf(long) < 1_000);
    assert.ok(reranker.judge('x'.repeat(1_000_000), 'x'.repeat(1_000_000)).score > 0);
    assert.ok(reranker.judge(long, long).score > 0);
  });

  it('refuses a file that is none or cut short, and rows that it was not trained on', () => {
    assert.throws(() => new Reranker(new Uint8Array(0), embedder), /not a rerank model/);
    assert.throws(() => readRerankWeights(weights.subarray(0, weights.length - 1)), /cut short/);
    assert.throws(() => readRerankWeights(weights.subarray(0, 40)), /cut short/);
    assert.throws(() => new Reranker(weights, embedder.subarray(1)), /another embedding model/);
  });
});

describe('stems', () => {
  it('are shared by forms of one English word', () => {
    for (const forms of [
      ['open', 'opens', 'opened', 'opening'],
      ['library', 'libraries'],
      ['invent', 'invented', 'inventing', 'invention'],
      ['stop', 'stopped', 'stopping'],
      ['compute', 'computed', 'computing', 'computer'],
    ]) {
      assert.equal(new Set(forms.map(stemOf)).size, 1, forms.map(stemOf).join(' '));
    }
  });

  it('leave short words, numbers and other languages alone', () => {
    for (const word of ['bus', 'is', '1990s', 'größen', 'данные', 'class', '']) assert.equal(stemOf(word), word);
  });
});

describe('what a question asks for', () => {
  it('is told by its words', () => {
    for (const [question, kind] of [
      ['When was it built?', 'time'],
      ['In what year did she leave?', 'time'],
      ['How many people live there?', 'number'],
      ['Who invented it?', 'person'],
      ['Which city is the largest?', 'place'],
      ['Why did it fail?', 'reason'],
      ['What is it made of?', 'other'],
      ['opening hours library', 'none'],
    ]) {
      assert.equal(kindOf(question as string), kind, question);
    }
  });
});

describe('the units of a text', () => {
  it('are its words, and pairs of characters where there are no spaces', () => {
    const units: string[] = [];
    eachUnit('The 図書館 opens 九', (unit) => units.push(unit) > 0);
    assert.deepEqual(units, ['the', '図書', '書館', 'opens', '九']);
  });
});
