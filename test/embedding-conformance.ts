/**
 * Conformance suite of `EmbeddingEngine` (`src/engines/embedding-engine.ts`). Requires no trained weights: a tiny
 * random model passes.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EMBEDDING_DIMENSIONS, type EmbeddingEngine, type EmbeddingRequest } from '../src/engines/embedding-engine.ts';
import { ApiError } from '../src/errors.ts';
import { never, type Subject, testAbortAndClose, testReadiness, useSubject } from './task-engine.ts';

/** Differences that an implementation may declare. */
export interface EmbeddingTraits {
  /**
   * Maximum difference between two vectors of the same text in different batches; 0 for bit-identical vectors. Batched
   * runtimes add in another order.
   */
  tolerance?: number;
}

const SENTENCE = 'The library opens at nine on Saturdays.';
const OTHER = 'Volcanoes erupt where molten rock reaches the surface.';
/** Longer than the window of any 512-token model, for any tokenizer. */
const LONG = 'A committee met in the old town hall and agreed on most points of the plan. '.repeat(90);

/** A request as the API creates it, without a prefix. */
export function embeddingRequest(texts: readonly string[], wanted: Partial<EmbeddingRequest> = {}): EmbeddingRequest {
  return { texts, purpose: 'text', maxTokensPerText: null, nameParam: (index) => `input.${index}`, ...wanted };
}

/** Registers the suite for one implementation. `start` is called once. */
export function embeddingConformance(
  name: string,
  start: () => Promise<Subject<EmbeddingEngine>>,
  { tolerance = 0 }: EmbeddingTraits = {},
): void {
  const assertSame = (a: Float32Array | undefined, b: Float32Array | undefined) => {
    assert.equal(a?.length, b?.length);
    const worst = Math.max(...Array.from(a ?? [], (value, i) => Math.abs(value - (b?.[i] ?? Number.NaN))));
    assert.ok(worst <= tolerance, `differs by ${worst}`);
  };

  describe(`an embedding engine: ${name}`, () => {
    const subject = useSubject(start);
    const embedTexts = async (texts: readonly string[], wanted?: Partial<EmbeddingRequest>) =>
      (await subject.engine.embed(embeddingRequest(texts, wanted), never)).vectors;

    testReadiness(subject);

    it('always tells the same fingerprint', () => {
      assert.notEqual(subject.engine.fingerprint(), '');
      assert.equal(subject.engine.fingerprint(), subject.engine.fingerprint());
    });

    it('gives 1,024 finite floats of length 1 to every text, in order, and counts tokens', async () => {
      const { vectors, tokens } = await subject.engine.embed(embeddingRequest([SENTENCE, OTHER, SENTENCE]), never);
      assert.equal(vectors.length, 3);
      for (const vector of vectors) {
        assert.ok(vector instanceof Float32Array);
        assert.equal(vector.length, EMBEDDING_DIMENSIONS);
        assert.ok(vector.every(Number.isFinite));
        const length = Math.hypot(...vector);
        assert.ok(Math.abs(length - 1) < 1e-4, `a length of ${length}`);
      }
      assertSame(vectors[0], vectors[2]);
      assert.throws(() => assertSame(vectors[0], vectors[1]));
      assert.ok(Number.isInteger(tokens) && tokens > 10, String(tokens));
    });

    it('embeds a text alike alone, beside hundreds of others, and beside other calls', async () => {
      const [alone] = await embedTexts([SENTENCE]);
      const many = Array.from({ length: 299 }, (_, i) => `${OTHER} ${i}`);
      const [crowd, ...others] = await Promise.all([
        embedTexts([...many, SENTENCE]),
        ...Array.from({ length: 20 }, () => embedTexts([SENTENCE])),
      ]);
      assert.equal(crowd.length, 300);
      assertSame(crowd[299], alone);
      for (const other of others) assertSame(other[0], alone);
    });

    it('counts each text for itself, and reads no fewer tokens than it counts', async () => {
      const texts = [SENTENCE, OTHER, `${SENTENCE} ${OTHER}`, 'a'];
      const counts = await subject.engine.countTokens(texts, never);
      assert.equal(counts.length, 4);
      for (const count of counts) assert.ok(Number.isInteger(count) && count >= 1, String(count));
      assert.deepEqual(counts.slice(0, 2), await subject.engine.countTokens([SENTENCE, OTHER], never));
      assert.ok((counts[2] ?? 0) >= (counts[0] ?? 0) + (counts[1] ?? 0) - 1);
      const { tokens } = await subject.engine.embed(embeddingRequest(texts), never);
      assert.ok(tokens >= counts.reduce((sum, count) => sum + count, 0), `${tokens} of ${counts}`);
    });

    it('refuses a text of one token more than are allowed, naming it, and takes the allowed ones', async () => {
      const [allowed] = await subject.engine.countTokens([OTHER], never);
      assert.equal((await embedTexts(['a', OTHER], { maxTokensPerText: allowed! })).length, 2);
      await assert.rejects(
        embedTexts(['a', 'b', OTHER], { maxTokensPerText: allowed! - 1 }),
        (error) => error instanceof ApiError && error.code === 'token_limit_exceeded' && error.param === 'input.2',
      );
    });

    it('takes a text of any length where none is refused, and tells long ones apart by what is in them', async () => {
      const [long, longer] = await embedTexts([LONG, LONG + OTHER.repeat(40)]);
      assert.ok(Math.abs(Math.hypot(...long!) - 1) < 1e-4);
      assert.throws(() => assertSame(long, longer));
    });

    it('takes every purpose', async () => {
      for (const purpose of ['text', 'query', 'document'] as const) {
        assert.equal((await embedTexts([SENTENCE], { purpose })).length, 1);
      }
    });

    it('accepts texts in any script, without words, and with unusual characters', async () => {
      const texts = [
        '\u0000',
        '。',
        'これは日本語です',
        'مرحبا بالعالم',
        '😀'.repeat(40),
        'x'.repeat(400),
        '\u200b',
        '\ud800',
      ];
      const vectors = await embedTexts(texts);
      assert.equal(vectors.length, texts.length);
      for (const vector of vectors) assert.ok(vector.every(Number.isFinite));
      assert.equal((await subject.engine.countTokens(texts, never)).length, texts.length);
    });

    it('gives blank texts a vector of length 1, and leaves those beside them alone', async () => {
      const [alone] = await embedTexts([SENTENCE]);
      for (const blank of ['', ' ', '\n\t']) {
        const vectors = await embedTexts([SENTENCE, blank, SENTENCE]);
        assertSame(vectors[0], alone);
        assertSame(vectors[2], alone);
        assert.ok(Math.abs(Math.hypot(...vectors[1]!) - 1) < 1e-4, JSON.stringify(blank));
      }
    });

    it('gives nothing for nothing', async () => {
      const { vectors, tokens } = await subject.engine.embed(embeddingRequest([]), never);
      assert.deepEqual({ vectors, tokens }, { vectors: [], tokens: 0 });
      assert.deepEqual(await subject.engine.countTokens([], never), []);
    });

    it('throws the reason of an aborted signal where tokens are counted', async () => {
      const reason = new Error('the caller has left');
      await assert.rejects(subject.engine.countTokens([SENTENCE], AbortSignal.abort(reason)), reason);
    });

    testAbortAndClose(subject, {
      short: async (signal) => {
        const { vectors } = await subject.engine.embed(embeddingRequest([SENTENCE]), signal);
        assert.equal(vectors.length, 1);
      },
      long: (signal) => subject.engine.embed(embeddingRequest(Array<string>(100).fill(LONG)), signal),
    });
  });
}
