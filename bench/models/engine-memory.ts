/**
 * Measures the memory of a bundled model in an otherwise empty process. `node --expose-gc engine-memory.ts TASK` prints
 * `EngineMemory` as
 * JSON lines.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createBundledEmbedding } from '../../src/engines/bundled/embedding/bundled-embedding.ts';
import { createBundledModeration } from '../../src/engines/bundled/moderation/bundled-moderation.ts';
import { createBundledRerank } from '../../src/engines/bundled/rerank/bundled-rerank.ts';
import { randomTexts, type Task } from './workloads.ts';

/** Resident bytes of the process without a model, when it is loaded, and when it has read texts. */
export interface EngineMemory {
  before: number;
  loaded: number;
  used: number;
}

/** The engine methods used here. */
interface Engine {
  check(signal: AbortSignal): Promise<void>;
  /** Reads texts, as a call of the API has it do. */
  read(texts: readonly string[], signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

const MODELS = join(import.meta.dirname, '../../models');
const SETTLE_MS = 500;
/** Texts of 200 words: a few seconds of work. */
const CALLS = 50;
const TEXTS_OF_A_CALL = 64;
const WORDS = 200;
const QUERY_WORDS = 8;

const EMBEDDER = join(MODELS, 'quire-embed-1.bin');

const ENGINES: Record<Task, () => Engine> = {
  embeddings: () => {
    const engine = createBundledEmbedding({ file: EMBEDDER, name: 'bench' });
    return {
      check: (signal) => engine.check(signal),
      close: () => engine.close(),
      read: (texts, signal) =>
        engine.embed({ texts, purpose: 'text', maxTokensPerText: null, paramOf: (index) => `input.${index}` }, signal),
    };
  },
  rerank: () => {
    const file = join(MODELS, 'quire-rerank-2.bin');
    const engine = createBundledRerank({ file, embedderFile: EMBEDDER, name: 'bench' });
    return {
      check: (signal) => engine.check(signal),
      close: () => engine.close(),
      read: (documents, signal) => engine.rerank({ query: randomTexts(0, 1, QUERY_WORDS)[0] ?? '', documents }, signal),
    };
  },
  moderations: () => {
    const engine = createBundledModeration({ file: join(MODELS, 'quire-moderation-1.bin'), name: 'bench' });
    return {
      check: (signal) => engine.check(signal),
      close: () => engine.close(),
      read: (texts, signal) => engine.moderate(texts, signal),
    };
  },
};

async function resident(): Promise<number> {
  globalThis.gc?.();
  await pause(SETTLE_MS);
  return process.memoryUsage.rss();
}

async function main(task: Task): Promise<void> {
  const { signal } = new AbortController();
  const before = await resident();
  const engine = ENGINES[task]();
  await engine.check(signal);
  const loaded = await resident();
  for (let call = 0; call < CALLS; call++) await engine.read(randomTexts(call, TEXTS_OF_A_CALL, WORDS), signal);
  const used = await resident();
  await engine.close();
  console.log(JSON.stringify({ before, loaded, used } satisfies EngineMemory));
}

await main(process.argv[2] as Task);
