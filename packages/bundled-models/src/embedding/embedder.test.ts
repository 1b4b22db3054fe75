import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Embedder } from './embedder.ts';
import { Tokenizer } from './tokenizer.ts';
import { readEmbeddingWeights } from './weights.ts';
import { eachWord } from './words.ts';

const ROOT = new URL('../../', import.meta.url);
const file = readFileSync(new URL('models/quire-embed-1.bin', ROOT));

/** Reference results for awkward texts; those of quire-embed-1 are from the Python reader that trained it. */
const expected: { text: string; tokens: number; rows: number[]; vector: string }[] = readFileSync(
  new URL('training/embedder/vectors.jsonl', ROOT),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

const bits = (vector: Float32Array | null) => Buffer.from(vector?.buffer ?? new ArrayBuffer()).toString('base64');

function wordsOf(text: string): string[] {
  const words: string[] = [];
  eachWord(text, (word) => words.push(word) > 0);
  return words;
}

describe('Embedder', () => {
  const embedder = new Embedder(file);
  const { pieces, bucketRows } = readEmbeddingWeights(file);
  const tokenizer = new Tokenizer(pieces, bucketRows);

  it('returns the reference rows, token counts and vectors bit for bit', () => {
    assert.ok(expected.length >= 18);
    for (const { text, tokens, rows, vector } of expected) {
      assert.deepEqual(tokenizer.tokenize(text), { rows, tokens }, text);
      const embedded = embedder.embed(text);
      assert.equal(embedded.tokens, tokens);
      assert.equal(embedder.countTokens(text), tokens);
      assert.equal(bits(embedded.vector), vector, text);
    }
  });

  it('returns the same vector whatever was embedded before', () => {
    for (const { text, vector } of expected.toReversed()) assert.equal(bits(embedder.embed(text).vector), vector);
  });

  it('returns a unit vector for every text, also for blank ones and lone surrogates', () => {
    for (const text of ['', ' ', '\u0000', '\ud800', '\udc00x', '\u0301', '__', '\u200b', '🏳️‍🌈']) {
      const { vector, tokens } = embedder.embed(text);
      assert.equal(vector?.length, 1024);
      const length = Math.hypot(...Array.from(vector ?? []));
      assert.ok(Math.abs(length - 1) < 1e-6, `${JSON.stringify(text)}: ${length}`);
      assert.ok(tokens >= 1);
    }
  });

  it('accepts exactly the token limit, in one word and in many', () => {
    for (const make of [
      (n: number) => 'word '.repeat(n),
      (n: number) => '東'.repeat(n),
      (n: number) => '?'.repeat(n),
    ]) {
      assert.equal(embedder.embed(make(2048), 2048).tokens, 2048);
      assert.notEqual(embedder.embed(make(2048), 2048).vector, null);
      assert.equal(embedder.embed(make(2049), 2048).vector, null);
      assert.equal(embedder.countTokens(make(2049)), 2049);
    }
    const one = expected.find(({ text }) => text === 'x'.repeat(70));
    assert.notEqual(embedder.embed('x'.repeat(70), one?.tokens).vector, null);
    assert.equal(embedder.embed('x'.repeat(70), (one?.tokens ?? 0) - 1).vector, null);
  });

  it('stops reading soon after the limit', () => {
    for (const text of ['word '.repeat(1_000_000), 'x'.repeat(1_000_000), '?'.repeat(1_000_000)]) {
      assert.ok(tokenizer.tokenize(text, 2048).rows.length <= 4100);
      assert.equal(tokenizer.tokenize(text, 2048).tokens, 2049);
    }
    for (const text of ['東京'.repeat(500_000), `a${'\u0591\u05b0'.repeat(500_000)}`]) {
      const { rows, tokens } = tokenizer.tokenize(text, 2048);
      assert.ok(tokens > 2048 && rows.length <= 2050, `${rows.length} rows`);
    }
  });

  it('tokenizes a long text in parts as if it were whole', () => {
    const sentence = 'The committee’s naïve ﬁnding №5 on splitLines(x): ὈΔΥΣΣΕΎΣ, 東京です。ends\n';
    const once = wordsOf(sentence);
    assert.deepEqual(wordsOf(sentence.repeat(500)), Array.from({ length: 500 }, () => once).flat());
    assert.deepEqual(wordsOf('splitLines'.repeat(6_000)), ['split', ...Array(5_999).fill('linessplit'), 'lines']);
    assert.deepEqual(wordsOf('word'.repeat(16_000)), ['word'.repeat(16_000)]);
  });

  it('ignores any number of accents in any order', () => {
    assert.deepEqual(wordsOf(`e${'\u0301\u0316'.repeat(50_000)}tude`), ['etude']);
    assert.deepEqual(wordsOf('e\u034f\u0301tude'), ['etude']);
  });

  it('rejects other files, other versions and truncated files', () => {
    assert.throws(() => new Embedder(new Uint8Array(0)), /not an embedding model/);
    assert.throws(
      () => new Embedder(Buffer.from('GGUF and much more than thirty-two bytes')),
      /not an embedding model/,
    );
    const other = Uint8Array.from(file.subarray(0, 64));
    other[8] = 2;
    assert.throws(() => new Embedder(other), /of this version/);
    assert.throws(() => new Embedder(file.subarray(0, file.length - 1)), /truncated/);
  });
});
