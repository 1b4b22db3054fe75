import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ServiceClient, ServiceError } from '../../bench/harness/service-client.ts';
import { chunking, paraphrases, stored } from './collections.ts';
import { dot, embedTexts } from './embedding-client.ts';
import { Search } from './search.ts';

/** A vector of the letters a, b and c; ten characters at most. */
function letters(text: string): Float32Array {
  return Float32Array.from('abc', (letter) => text.split(letter).length - 1);
}

function serviceOf(limit: number, asked: string[][] = []): ServiceClient {
  const refuse = (at: number): never => {
    const error = { code: 'token_limit_exceeded', param: `input.${at}` };
    throw new ServiceError('/v1/embeddings', 400, JSON.stringify({ error }));
  };
  return {
    async post<T>(_path: string, body: object): Promise<T> {
      const { input } = body as { input: string[] };
      asked.push(input);
      const long = input.findIndex((text) => text.length > limit);
      if (long !== -1) refuse(long);
      const data = input.map((text) => ({ embedding: Buffer.from(letters(text).buffer).toString('base64') }));
      return { data } as T;
    },
    servedBackend: async () => ({ engine: 'test', model: 'letters', parameters: null }),
    get: () => Promise.reject(new Error('nothing is read')),
    upload: () => Promise.reject(new Error('nothing is uploaded')),
    delete: () => Promise.reject(new Error('nothing is deleted')),
    own: null,
    stop: async () => {},
  };
}

describe('the retrieval evaluation', () => {
  const data = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  after(() => rmSync(data, { recursive: true }));
  const put = (file: string, text: string): void => {
    mkdirSync(dirname(join(data, file)), { recursive: true });
    writeFileSync(join(data, file), gzipSync(text));
  };
  const rows = (...all: object[]): string => all.map((row) => JSON.stringify(row)).join('\n');

  it('reads a collection, leaving out queries for which nothing is relevant', () => {
    put('retrieval/tiny/corpus.jsonl.gz', rows({ _id: 'd1', title: 'T', text: 'one' }, { _id: 'd2', text: 'two' }));
    put(
      'retrieval/tiny/queries.jsonl.gz',
      rows({ _id: 'q1', text: 'x' }, { _id: 'q2', text: 'y' }, { _id: 'q3', text: 'z' }),
    );
    put('retrieval/tiny/qrels.tsv.gz', 'query-id\tcorpus-id\tscore\nq3\td2\t2\nq3\td1\t1\nq2\td1\t0\nq1\td9\t1\n');
    const source = stored('small', 'tiny');
    assert.equal(source.files.length, 3);
    assert.deepEqual(source.read(data), {
      name: 'small',
      documents: ['T\none', 'two'],
      queries: ['z'],
      gains: [
        new Map([
          [1, 2],
          [0, 1],
        ]),
      ],
    });
  });

  it('takes the pieces that share more than twenty characters with a gold span, counted in code points', () => {
    for (const file of chunking.files.slice(1)) put(file, '');
    put('chunking/raw/corpora/finance.md.gz', `${'😀'.repeat(1000)}${'b'.repeat(1500)}`);
    const reference = (from: number, to: number) => ({ start_index: from, end_index: to });
    put(
      'chunking/questions.jsonl.gz',
      rows(
        { corpus_id: 'finance', question: 'one', references: [reference(980, 1021)] },
        { corpus_id: 'finance', question: 'both', references: [reference(970, 2100)] },
        { corpus_id: 'wikitexts', question: 'none', references: [reference(0, 50)] },
      ),
    );
    const { documents, queries, gains } = chunking.read(data);
    assert.deepEqual(documents, ['😀'.repeat(1000), 'b'.repeat(1000), 'b'.repeat(500)]);
    assert.deepEqual(queries, ['one', 'both']);
    assert.deepEqual(
      gains.map((own) => [...own.keys()]),
      [[1], [0, 1, 2]],
    );
  });

  it('asks every fifth of the test questions for those of the same intent', () => {
    const row = (split: string, intent: string, text: string) => ({ split, intent, text });
    const tests = Array.from({ length: 6 }, (_, at) => row('test', at === 5 ? 'two' : 'one', `t${at}`));
    put('chat/banking77_intents.jsonl.gz', rows(row('train', 'one', 'a'), row('train', 'two', 'b'), ...tests));
    const { documents, queries, gains } = paraphrases.read(data);
    assert.deepEqual(
      [documents, queries],
      [
        ['a', 'b'],
        ['t0', 't5'],
      ],
    );
    assert.deepEqual(gains, [new Map([[0, 1]]), new Map([[1, 1]])]);
  });

  it('embeds in batches, in order, and the beginning of what has too many tokens', async () => {
    const asked: string[][] = [];
    const texts = Array.from({ length: 300 }, (_, at) => (at === 7 ? 'abbb'.repeat(5) : 'c'.repeat(at % 10)));
    const vectors = await embedTexts(serviceOf(16, asked), texts, 'test');
    assert.equal(vectors.length, 300);
    assert.deepEqual([...(vectors[299] ?? [])], [0, 0, 9]);
    // Twenty letters, then 18, then 16.
    assert.deepEqual([...(vectors[7] ?? [])], [4, 12, 0]);
    assert.deepEqual(
      asked.map(({ length }) => length),
      [256, 256, 256, 44],
    );
    await assert.rejects(embedTexts(serviceOf(0), ['a'], 'test'), ServiceError);
  });

  it('scores by words, by vectors and by both', async () => {
    const collection = {
      name: 'tiny',
      documents: ['aa', 'b', 'zebra'],
      queries: ['a zebra'],
      gains: [new Map([[2, 1]])],
    };
    const search = await Search.of(serviceOf(100), collection);
    const { keyword, vector, hybrid } = search.scores(0);
    assert.deepEqual([...vector], [4, 1, 3]);
    assert.deepEqual([keyword[0], keyword[1]], [0, 0]);
    const words = keyword[2] ?? 0;
    assert.ok(words > 0);
    assert.ok(Math.abs((hybrid[2] ?? 0) - (0.2 * 3 + 0.8 * (words / (words + 30)))) < 1e-6);
    assert.equal(dot(Float32Array.of(1, 2), Float32Array.of(3, 4)), 11);
  });
});
