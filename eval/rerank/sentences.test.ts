import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { qedTasks, SENTENCE_FILES, squadTasks } from './sentences.ts';

describe('the sentences that a reranker must find', () => {
  const data = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  after(() => rmSync(data, { recursive: true }));
  for (const folder of ['pairs', 'chat']) mkdirSync(join(data, folder));
  const put = (file: string | undefined, rows: object[]): void =>
    writeFileSync(join(data, file ?? ''), gzipSync(rows.map((row) => JSON.stringify(row)).join('\n')));

  it('are, of SQuAD, the held-back ones among the nearest of other questions, and never twice', () => {
    const pairs = Array.from({ length: 600 }, (_, at) => ({
      a: `what is thing ${at} ?`,
      b: `thing ${at} is ${at % 50} here`,
    }));
    put(SENTENCE_FILES[0], pairs);
    put(SENTENCE_FILES[1], []);
    const tasks = squadTasks(data);
    assert.deepEqual(
      tasks.map(({ question }) => question),
      pairs.slice(350, 400).map(({ a }) => a),
    );
    for (const [at, { sentences, right }] of tasks.entries()) {
      assert.equal(sentences.length, 25);
      assert.equal(new Set(sentences).size, 25);
      assert.equal(sentences[right], pairs[350 + at]?.b);
    }
  });

  it('are, of QED, those of the own passage and of four others', () => {
    const passage = (at: number) => `Thing ${at} is old. It was made in ${at}. 😀 Nobody knows why.`;
    put(
      SENTENCE_FILES[2],
      Array.from({ length: 8 }, (_, at) => ({
        question: `When was thing ${at} made?`,
        passage: passage(at),
        sentence_span: [16, 33],
      })),
    );
    const tasks = qedTasks(data);
    assert.equal(tasks.length, 8);
    for (const [at, { sentences, right }] of tasks.entries()) {
      assert.equal(sentences[right], `It was made in ${at}.`);
      assert.equal(sentences.filter((text) => text.startsWith('Thing')).length, 5);
    }
  });
});
