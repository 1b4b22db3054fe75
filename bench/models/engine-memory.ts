import { setTimeout as pause } from 'node:timers/promises';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { createBundledEmbedding } from '../../src/engines/bundled/bundled-embedding.ts';
import { createBundledModeration } from '../../src/engines/bundled/bundled-moderation.ts';
import { createBundledRerank } from '../../src/engines/bundled/bundled-rerank.ts';
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

const SETTLE_MS = 500;
/** Texts of 200 words: a few seconds of work. */
const CALLS = 50;
const TEXTS_OF_A_CALL = 64;
const WORDS = 200;
const QUERY_WORDS = 8;

const ENGINES: Record<Task, () => Engine> = {
  embeddings: () => {
    const engine = createBundledEmbedding(BUNDLED_MODELS.embedding);
    return {
      check: (signal) => engine.check(signal),
      close: () => engine.close(),
      read: (texts, signal) =>
        engine.embed(
          { texts, purpose: 'text', maxTokensPerText: null, nameParam: (index) => `input.${index}` },
          signal,
        ),
    };
  },
  rerank: () => {
    const engine = createBundledRerank(BUNDLED_MODELS.rerank);
    return {
      check: (signal) => engine.check(signal),
      close: () => engine.close(),
      read: (documents, signal) => engine.rerank({ query: randomTexts(0, 1, QUERY_WORDS)[0] ?? '', documents }, signal),
    };
  },
  moderations: () => {
    const engine = createBundledModeration(BUNDLED_MODELS.moderation);
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
