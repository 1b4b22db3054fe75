import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { LlamaContext, LlamaModel } from 'node-llama-cpp';
import { EMBEDDING_DIMENSIONS } from '../../embedding-engine.ts';
import { POOLING, poolingOf } from '../gguf/gguf-use.ts';
import { createPoolingContext, parameterCount, readPooled } from '../runtime/bindings.ts';
import { cannotBeUsed, freeMemory, openGguf } from '../runtime/open-gguf.ts';
import { Vocabulary } from '../tokenizer/vocabulary.ts';
import type { EncoderFacts, EncoderLoadOptions, FileIdentity } from './encoder-protocol.ts';
import type { Reader } from './readings.ts';
import { aroundPair, aroundText } from './special-tokens.ts';

/**
 * Tokens of a window where the operator says nothing: the longest text that `/v1/embeddings` takes, with what models add.
 * Attention takes memory and time by the square of it, so that longer ones do not pay.
 */
const USUAL_WINDOW_TOKENS = 2_304;
/** A window of fewer tokens is no use. */
const LEAST_WINDOW_TOKENS = 64;
/** Contexts at most: each takes memory, and threads of one window lose little against windows of one thread each. */
const MOST_CONTEXTS = 8;
/** Part of the free memory that contexts may take; the first one may have more. */
const CHOSEN_PART = 0.25;
const FIRST_PART = 0.8;
/** Architectures whose head ends in likelihoods (`build_pooling` in llama-graph.cpp); that of the first label counts. */
const LIKELIHOODS: ReadonlySet<string> = new Set(['qwen3', 'qwen3vl']);

/** An encoder that is ready to read. */
export interface EncoderModel {
  contexts: readonly LlamaContext[];
  threads: number;
  reader: Reader;
  facts: EncoderFacts;
}

/** The file is whole, and no model for its purpose. */
class Misfit extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Loads a GGUF that embeds or judges. Throws an Error whose message is one sentence for the operator. */
export async function loadEncoder(options: EncoderLoadOptions): Promise<EncoderModel> {
  const { file, identity, use } = options;
  const { model } = await openGguf(file, use);
  if (identity !== null) await checkIdentity(file, identity);
  try {
    return await prepare(model, options);
  } catch (error) {
    throw error instanceof Misfit ? cannotBeUsed(file, error, error.remedy) : cannotBeUsed(file, error);
  }
}

/** A model of other weights would put other vectors beside those that are there. */
async function checkIdentity(file: string, { bytes, changedMs }: FileIdentity): Promise<void> {
  const { size, mtimeMs } = await stat(file);
  if (size === bytes && mtimeMs === changedMs) return;
  throw new Error(
    `The model file '${file}' is another one than when Quire was started; put the first one back, or start Quire again.`,
  );
}

async function prepare(model: LlamaModel, options: EncoderLoadOptions): Promise<EncoderModel> {
  const scores = options.use === 'rerank';
  const { architecture, name } = model.fileInfo.metadata.general;
  if (scores) checkLabels(model, architecture);
  else checkPooling(model);
  const threads = options.threads ?? availableParallelism();
  const windowTokens = Math.min(options.contextTokens ?? USUAL_WINDOW_TOKENS, model.trainContextSize);
  const contexts = await createContexts(model, windowTokens, {
    threads,
    scores,
    freeBytes: freeMemory(model.size, options.contextMb),
  });
  const [first] = contexts;
  if (first === undefined) throw new Error('there is no memory for it');
  const reader: Reader = {
    vocabulary: new Vocabulary(model),
    around: aroundText(model),
    pair: scores ? aroundPair(model) : null,
    windowTokens,
    logits: !LIKELIHOODS.has(architecture),
    dimensions: EMBEDDING_DIMENSIONS,
  };
  await tryOut(first, reader);
  return {
    contexts,
    threads,
    reader,
    facts: { name: name ?? null, parameters: parameterCount(first), windowTokens, contexts: contexts.length },
  };
}

/** One context more for each thread, as long as there is memory for it. */
async function createContexts(
  model: LlamaModel,
  tokens: number,
  { threads, scores, freeBytes: free }: { threads: number; scores: boolean; freeBytes: number },
): Promise<LlamaContext[]> {
  const size = { contextSize: tokens, sequences: 1, batchSize: tokens, modelGpuLayers: 0, isEmbeddingContext: true };
  const bytes = (await model.fileInsights.estimateContextResourceRequirementsV2(size)).cpuRam;
  if (bytes > free * FIRST_PART || tokens < LEAST_WINDOW_TOKENS) {
    throw new Error(
      `a window of ${tokens} tokens needs ${megabytes(bytes)} of memory, of which ${megabytes(free)} are free, and has ` +
        `${LEAST_WINDOW_TOKENS} tokens at least`,
    );
  }
  const count = Math.max(1, Math.min(threads, MOST_CONTEXTS, Math.floor((free * CHOSEN_PART) / bytes)));
  const contexts: LlamaContext[] = [];
  for (let i = 0; i < count; i++) contexts.push(await createPoolingContext(model, { tokens, threads: 1, scores }));
  return contexts;
}

function checkPooling(model: LlamaModel): void {
  const pooling = poolingOf(model.fileInfo);
  if (pooling === POOLING.none) {
    throw new Misfit(
      'it does not say how the vectors of its tokens become one',
      'convert it again with its pooling, or configure another GGUF file',
    );
  }
}

function checkLabels(model: LlamaModel, architecture: string): void {
  const traits = model.fileInfo.architectureMetadata as { classifier?: { output_labels?: unknown } };
  const labels = traits.classifier?.output_labels;
  if (Array.isArray(labels) && labels.length > 1 && !LIKELIHOODS.has(architecture)) {
    throw new Misfit(
      `its head sorts texts into ${labels.length} kinds instead of giving one score`,
      'configure a GGUF of a reranker',
    );
  }
}

/** Reads something once: what the model gives shows in nothing else than what it gives. */
async function tryOut(context: LlamaContext, { around, pair, vocabulary, dimensions }: Reader): Promise<void> {
  const word = vocabulary.tokenizePlain('a');
  const tokens =
    pair === null
      ? [...around.before, ...word, ...around.after]
      : [...pair.before, ...word, ...pair.between, ...word, ...pair.after];
  const numbers = await readPooled(context, tokens);
  if (pair === null && numbers.length !== dimensions) {
    throw new Misfit(
      `its vectors have ${numbers.length} numbers, and every index here has ${dimensions}`,
      `configure a GGUF of a model that gives ${dimensions}`,
    );
  }
  if (!numbers.every(Number.isFinite))
    throw new Misfit('what it gives are no numbers', 'it is damaged, so fetch it again');
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
