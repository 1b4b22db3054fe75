import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { until } from '../../../../test/deadline.ts';
import { embeddingConformance, embeddingRequest } from '../../../../test/embedding-conformance.ts';
import { checkFairTurns } from '../../../../test/fair-queue.ts';
import type { TensorType } from '../../../../test/fixtures/architectures/tensor-bytes.ts';
import {
  type ArchitectureName,
  writeArchitecture,
} from '../../../../test/fixtures/architectures/write-architecture.ts';
import { ApiError } from '../../../errors.ts';
import { createLogger } from '../../../lib/logger.ts';
import type { EmbeddingPurpose } from '../../embedding-engine.ts';
import { type LocalEmbedding, type LocalEmbeddingOptions, startLocalEmbedding } from './local-embedding.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-embedders-'));
const engines = new Set<LocalEmbedding>();
after(async () => {
  await Promise.all([...engines].map((engine) => engine.close()));
  rmSync(folder, { recursive: true, force: true });
});
const never = new AbortController().signal;
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function startOn(file: string, changes: Partial<LocalEmbeddingOptions> = {}): Promise<LocalEmbedding> {
  const logger = createLogger('silent');
  const settled = { file, name: 'tiny', contextTokens: null, threads: 2, logger, hashesFile: join(folder, 'h.json') };
  const engine = await startLocalEmbedding({ ...settled, ...changes }, never);
  engines.add(engine);
  return engine;
}

async function vectorOf(engine: LocalEmbedding, text: string, purpose: EmbeddingPurpose = 'text') {
  const { vectors } = await engine.embed(embeddingRequest([text], { purpose }), never);
  return vectors[0]!;
}

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
const isUnavailable = (error: unknown) => error instanceof ApiError && error.status === 503;
const TEXTS = ['The library opens at nine.', 'Where is the cat?', 'the cat sat on the mat '.repeat(100)];

embeddingConformance('a GGUF on llama.cpp', async () => {
  const engine = await startOn(await writeArchitecture(folder, 'qwen-3-embedding', 'q8_0'));
  return { engine, close: () => engine.close() };
});

describe('the queue of an embedder', () => {
  it('serves another organization after few requests of one that floods it', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'qwen-3-embedding', 'q8_0'));
    const texts = Array<string>(4).fill('the cat sat on the mat '.repeat(20));
    await checkFairTurns((scope) => engine.embed(embeddingRequest(texts, { scope }), never));
  });
});

describe('embedders of other architectures', () => {
  const cases: [ArchitectureName, TensorType][] = [
    ['bge-m3', 'f16'],
    ['nomic-embed', 'q4_k'],
  ];
  for (const [name, type] of cases) {
    it(`${name}, its weights ${type}: distinguishes texts, also those longer than its window`, async () => {
      const engine = await startOn(await writeArchitecture(folder, name, type));
      const { vectors } = await engine.embed(embeddingRequest([...TEXTS, TEXTS[0]!]), never);
      assert.ok(cosine(vectors[0]!, vectors[3]!) > 0.99999);
      assert.ok(cosine(vectors[0]!, vectors[1]!) < 0.99);
      const [count] = await engine.countTokens([TEXTS[0]!], never);
      const { tokens } = await engine.embed(embeddingRequest([TEXTS[0]!]), never);
      assert.equal(tokens - count!, 2, 'it has a token at the beginning and one at the end');
      await engine.close();
    });
  }
  it('bge-large: quantization hardly changes its vectors', async () => {
    const [full, quantised] = await Promise.all(
      (['f32', 'q8_0'] as const).map(async (type) => {
        const engine = await startOn(await writeArchitecture(folder, 'bge-large', type));
        const { vectors } = await engine.embed(embeddingRequest(TEXTS), never);
        await engine.close();
        return vectors;
      }),
    );
    full?.forEach((vector, i) => {
      assert.ok(cosine(vector, quantised![i]!) > 0.999, `text ${i}`);
    });
  });
});

describe('a GGUF that is not a usable embedding model', () => {
  const cases: [ArchitectureName, RegExp][] = [
    ['bge-small', /its vectors have 384 numbers, and every index here has 1024\); configure a GGUF of a model that/],
    ['qwen-3', /is a generation model; bind a GGUF with a pooling type to this id/],
    ['bge-reranker', /is a reranker; bind a GGUF with a pooling type/],
  ];
  for (const [name, sentence] of cases) {
    it(`${name}: rejected at start, with the remedy`, async () => {
      await assert.rejects(startOn(await writeArchitecture(folder, name)), sentence);
    });
  }
  it('a missing file: the error names the path', async () => {
    await assert.rejects(startOn(join(folder, 'none.gguf')), /none\.gguf' does not exist/);
  });
});

describe('a local embedding engine', () => {
  it('adds the prefixes of its model, which are part of its fingerprint', async () => {
    const file = await writeArchitecture(folder, 'qwen-3-embedding', 'f16');
    const plain = await startOn(file);
    const named = await startOn(file, { name: 'multilingual-e5-large' });
    assert.match(plain.fingerprint(), /^sha256:[0-9a-f]{64};1024;l2;no-prefix;window:2048$/);
    assert.match(named.fingerprint(), /;prefix:\["query: ","passage: "\];/);
    const text = await vectorOf(named, 'the cat');
    assert.ok(cosine(text, await vectorOf(plain, 'the cat')) > 0.99999);
    assert.ok(cosine(text, await vectorOf(plain, 'the cat', 'query')) > 0.99999);
    const query = await vectorOf(named, 'the cat', 'query');
    assert.ok(cosine(text, query) < 0.999);
    assert.ok(cosine(query, await vectorOf(plain, 'query: the cat')) > 0.99);
    assert.notEqual((await startOn(file, { contextTokens: 128 })).fingerprint(), plain.fingerprint());
  });
  it('interleaves short texts with long ones, and rejects calls when the queue is full', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'qwen-3-embedding', 'q8_0'), { contextTokens: 128 });
    let ended = false;
    const long = engine.embed(embeddingRequest([TEXTS[2]!.repeat(40)]), never).then(() => {
      ended = true;
    });
    await vectorOf(engine, 'the cat');
    assert.equal(ended, false, 'the short one did not wait for the long one');
    await long;
    const many = Array.from({ length: 1_100 }, (_, i) =>
      engine.embed({ ...embeddingRequest(['the cat']), scope: `organization ${i % 2}` }, never),
    );
    const refused = (await Promise.allSettled(many)).filter((outcome) => outcome.status === 'rejected');
    assert.equal(refused.length, 76);
    for (const { reason } of refused) assert.ok(isUnavailable(reason), String(reason));
  });
});

describe('a killed embedding process', () => {
  it('running calls fail with 503, and it restarts with the same vectors', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'qwen-3-embedding', 'f16'));
    const before = await vectorOf(engine, 'the cat');
    const fingerprint = engine.fingerprint();
    for (const signal of ['SIGKILL', 'SIGSEGV'] as const) {
      const running = assert.rejects(engine.embed(embeddingRequest([TEXTS[2]!.repeat(100)]), never), isUnavailable);
      await pause(50);
      process.kill(engine.hostPid ?? 0, signal);
      await running;
      await assert.rejects(vectorOf(engine, 'the cat'), isUnavailable);
      assert.equal(engine.backend().ready, false);
      await until(() => engine.check(never).then(...answers));
      assert.deepEqual(await vectorOf(engine, 'the cat'), before);
    }
    assert.equal(engine.fingerprint(), fingerprint);
  });
  it('does not restart with another file', async () => {
    const file = await writeArchitecture(folder, 'qwen-3-embedding', 'q4_0');
    const engine = await startOn(file);
    appendFileSync(file, 'x');
    process.kill(engine.hostPid ?? 0, 'SIGKILL');
    const isAnother = (error: Error) => /is another one than when Quire was started/.test(error.message);
    await until(() => engine.check(never).then(() => false, isAnother));
    await assert.rejects(vectorOf(engine, 'the cat'), isUnavailable);
  });
});

const answers = [() => true, () => false] as const;
