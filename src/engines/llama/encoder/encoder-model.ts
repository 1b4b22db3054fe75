import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { LlamaContext, LlamaModel } from 'node-llama-cpp';
import { EMBEDDING_DIMENSIONS } from '../../embedding-engine.ts';
import { POOLING, readPoolingType } from '../gguf/gguf-use.ts';
import { computePooled, createPoolingContext, parameterCount } from '../runtime/bindings.ts';
import { freeMemory, openGguf, unusableModelError } from '../runtime/open-gguf.ts';
import { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import type { EncoderSetup } from './encode-tasks.ts';
import type { EncoderFacts, EncoderLoadOptions, FileIdentity } from './encoder-protocol.ts';
import { pairSpecialTokens, textSpecialTokens } from './special-tokens.ts';

/**
 * Default tokens per window: the longest input of `/v1/embeddings` with its special tokens. Attention is quadratic in
 * the length.
 */
const DEFAULT_WINDOW_TOKENS = 2_304;
/** Minimum tokens per window. */
const MIN_WINDOW_TOKENS = 64;
/**
 * Maximum number of contexts: each takes memory, and several threads per window are nearly as fast as several windows.
 */
const MAX_CONTEXTS = 8;
/** Fraction of the free memory for contexts; the first one may take more. */
const DEFAULT_MEMORY_FRACTION = 0.25;
const FIRST_CONTEXT_MEMORY_FRACTION = 0.8;
/** Architectures whose head returns probabilities (`build_pooling` in llama-graph.cpp); the first label counts. */
const PROBABILITY_HEADS: ReadonlySet<string> = new Set(['qwen3', 'qwen3vl']);

/** A loaded encoder. */
export interface EncoderModel {
  contexts: readonly LlamaContext[];
  threads: number;
  setup: EncoderSetup;
  facts: EncoderFacts;
}

/** The file is valid, but not suitable for its purpose. */
class UnsupportedModelError extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Loads an embedding model or a reranker. Throws an Error with one sentence for the operator. */
export async function loadEncoder(options: EncoderLoadOptions): Promise<EncoderModel> {
  const { file, identity, use } = options;
  const { model } = await openGguf(file, use);
  if (identity !== null) await checkIdentity(file, identity);
  try {
    return await prepare(model, options);
  } catch (error) {
    throw error instanceof UnsupportedModelError
      ? unusableModelError(file, error, error.remedy)
      : unusableModelError(file, error);
  }
}

/** Other weights would produce vectors that cannot be compared with stored ones. */
async function checkIdentity(file: string, { bytes, modifiedMs }: FileIdentity): Promise<void> {
  const { size, mtimeMs } = await stat(file);
  if (size === bytes && mtimeMs === modifiedMs) return;
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
  const windowTokens = Math.min(options.contextTokens ?? DEFAULT_WINDOW_TOKENS, model.trainContextSize);
  const contexts = await createContexts(model, windowTokens, {
    threads,
    scores,
    freeBytes: freeMemory(model.size, options.contextMb),
  });
  const [first] = contexts;
  if (first === undefined) throw new Error('there is not enough memory for a context');
  const setup: EncoderSetup = {
    tokenizer: new LlamaTokenizer(model),
    specialTokens: textSpecialTokens(model),
    pairTokens: scores ? pairSpecialTokens(model) : null,
    windowTokens,
    returnsLogits: !PROBABILITY_HEADS.has(architecture),
    dimensions: EMBEDDING_DIMENSIONS,
  };
  await probeOutput(first, setup);
  return {
    contexts,
    threads,
    setup,
    facts: { name: name ?? null, parameters: parameterCount(first), windowTokens, contexts: contexts.length },
  };
}

/** One context per thread, limited by memory. */
async function createContexts(
  model: LlamaModel,
  tokens: number,
  { threads, scores, freeBytes: free }: { threads: number; scores: boolean; freeBytes: number },
): Promise<LlamaContext[]> {
  const size = { contextSize: tokens, sequences: 1, batchSize: tokens, modelGpuLayers: 0, isEmbeddingContext: true };
  const bytes = (await model.fileInsights.estimateContextResourceRequirementsV2(size)).cpuRam;
  if (bytes > free * FIRST_CONTEXT_MEMORY_FRACTION || tokens < MIN_WINDOW_TOKENS) {
    throw new Error(
      `a window of ${tokens} tokens needs ${megabytes(bytes)} of memory, of which ${megabytes(free)} are free, and has ` +
        `${MIN_WINDOW_TOKENS} tokens at least`,
    );
  }
  const count = Math.max(1, Math.min(threads, MAX_CONTEXTS, Math.floor((free * DEFAULT_MEMORY_FRACTION) / bytes)));
  const contexts: LlamaContext[] = [];
  for (let i = 0; i < count; i++) contexts.push(await createPoolingContext(model, { tokens, threads: 1, scores }));
  return contexts;
}

function checkPooling(model: LlamaModel): void {
  const pooling = readPoolingType(model.fileInfo);
  if (pooling === POOLING.none) {
    throw new UnsupportedModelError(
      'it has no pooling type',
      'convert it again with its pooling type, or configure another GGUF file',
    );
  }
}

function checkLabels(model: LlamaModel, architecture: string): void {
  const traits = model.fileInfo.architectureMetadata as { classifier?: { output_labels?: unknown } };
  const labels = traits.classifier?.output_labels;
  if (Array.isArray(labels) && labels.length > 1 && !PROBABILITY_HEADS.has(architecture)) {
    throw new UnsupportedModelError(
      `its classification head has ${labels.length} labels instead of one score`,
      'configure a GGUF of a reranker',
    );
  }
}

/** Computes one input: only its output shows the dimension and the head of a model. */
async function probeOutput(
  context: LlamaContext,
  { specialTokens, pairTokens, tokenizer, dimensions }: EncoderSetup,
): Promise<void> {
  const word = tokenizer.tokenize('a');
  const tokens =
    pairTokens === null
      ? [...specialTokens.before, ...word, ...specialTokens.after]
      : [...pairTokens.before, ...word, ...pairTokens.between, ...word, ...pairTokens.after];
  const numbers = await computePooled(context, tokens);
  if (pairTokens === null && numbers.length !== dimensions) {
    throw new UnsupportedModelError(
      `its vectors have ${numbers.length} numbers, and every index here has ${dimensions}`,
      `configure a GGUF of a model that gives ${dimensions}`,
    );
  }
  if (!numbers.every(Number.isFinite))
    throw new UnsupportedModelError('its output is not finite', 'it is damaged; download it again');
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
