import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { until } from '../../../../test/deadline.ts';
import { checkFairQueue, checkFairTurns, FAIR_QUEUE_REQUESTS } from '../../../../test/fair-queue.ts';
import {
  type ArchitectureName,
  writeArchitecture,
} from '../../../../test/fixtures/architectures/write-architecture.ts';
import { rerankConformance } from '../../../../test/rerank-conformance.ts';
import { ApiError } from '../../../errors.ts';
import { createLogger } from '../../../lib/logger.ts';
import { type LocalRerank, startLocalRerank } from './local-rerank.ts';

const folder = mkdtempSync(join(tmpdir(), 'quire-rerankers-'));
const engines = new Set<LocalRerank>();
after(async () => {
  await Promise.all([...engines].map((engine) => engine.close()));
  rmSync(folder, { recursive: true, force: true });
});
const never = new AbortController().signal;
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function startOn(file: string, contextTokens: number | null = null, maxCalls = 1_024): Promise<LocalRerank> {
  const logger = createLogger('silent');
  const engine = await startLocalRerank({ file, name: 'tiny', contextTokens, threads: 2, maxCalls, logger }, never);
  engines.add(engine);
  return engine;
}

const isUnavailable = (error: unknown) => error instanceof ApiError && error.status === 503;
const QUERY = 'where is the cat';
const DOCUMENTS = ['the library opens at nine', 'the cat sat on the mat', 'rome is the capital'];

rerankConformance(
  'a GGUF on llama.cpp',
  async () => {
    const engine = await startOn(await writeArchitecture(folder, 'bge-reranker', 'q8_0'));
    return { engine, close: () => engine.close() };
  },
  { judges: false },
);

describe('rerankers on llama.cpp', () => {
  for (const name of ['bge-reranker', 'qwen-3-reranker'] as const) {
    it(`${name}: the score of a long document is that of its best window`, async () => {
      const engine = await startOn(await writeArchitecture(folder, name, 'f16'), 128);
      const judge = async (documents: readonly string[], query = QUERY) =>
        (await engine.rerank({ query, documents }, never)).scores;
      const short = await judge(DOCUMENTS);
      assert.equal(new Set(short).size, 3, 'it tells documents apart');
      assert.notDeepEqual(await judge(DOCUMENTS, 'what is rome'), short, 'it looks at the query');
      const filler = 'a river in the garden '.repeat(60);
      const [plain, long] = await judge([filler, filler + DOCUMENTS[1]!.repeat(30)]);
      assert.ok(long! >= plain! - 0.05 && long! <= 1, `${long} and ${plain}`);
      const [much] = await judge([DOCUMENTS[0]!], 'where is the cat '.repeat(400));
      assert.ok(much! > 0 && much! < 1, 'a query longer than the window is cut');
      await engine.close();
    });
  }
  it('computes one window for a short document, with its special tokens', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'bge-reranker', 'f16'));
    const one = (await engine.rerank({ query: QUERY, documents: [DOCUMENTS[1]!] }, never)).tokens;
    const three = await engine.rerank({ query: QUERY, documents: Array(3).fill(DOCUMENTS[1]) as string[] }, never);
    assert.equal(three.tokens, 3 * one);
    await engine.close();
  });
});

describe('a GGUF that is not a reranker', () => {
  const cases: [ArchitectureName, RegExp][] = [
    [
      'bge-small',
      /is an embedding model; bind a GGUF with a classification head to this id, and this one to the id of an/,
    ],
    ['llama-3', /is a generation model; bind a GGUF with a classification head/],
  ];
  for (const [name, sentence] of cases) {
    it(`${name}: rejected at start, with the remedy`, async () => {
      await assert.rejects(startOn(await writeArchitecture(folder, name)), sentence);
    });
  }
});

describe("a reranker's queue", () => {
  it('evicts requests of an organization that fills it for another one', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'bge-reranker', 'f16'), null, FAIR_QUEUE_REQUESTS);
    const documents = Array<string>(500).fill('the cat sat on the mat '.repeat(200));
    await checkFairQueue((scope, signal) => engine.rerank({ query: QUERY, documents, scope }, signal));
  });

  it('serves another organization after few requests of one that floods it', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'bge-reranker', 'f16'));
    const documents = Array<string>(4).fill('the cat sat on the mat '.repeat(20));
    await checkFairTurns((scope) => engine.rerank({ query: QUERY, documents, scope }, never));
  });
});

describe('a killed reranker process', () => {
  it('running calls fail with 503, and it restarts', async () => {
    const engine = await startOn(await writeArchitecture(folder, 'bge-reranker', 'f16'));
    const before = await engine.rerank({ query: QUERY, documents: DOCUMENTS }, never);
    const many = Array<string>(500).fill('the cat sat on the mat '.repeat(200));
    const running = assert.rejects(engine.rerank({ query: QUERY, documents: many }, never), isUnavailable);
    await pause(50);
    process.kill(engine.hostPid ?? 0, 'SIGSEGV');
    await running;
    const isThere = () =>
      engine.check(never).then(
        () => true,
        () => false,
      );
    await until(isThere);
    assert.deepEqual((await engine.rerank({ query: QUERY, documents: DOCUMENTS }, never)).scores, before.scores);
  });
});
