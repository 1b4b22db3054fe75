import type { GgufFileInfo } from 'node-llama-cpp';
import { checkGgufHeader } from './gguf-header.ts';

/** What the weights in a GGUF can be used for. */
export type GgufUse = 'generation' | 'embedding' | 'rerank';

/** What a GGUF says of itself. */
export interface GgufFacts {
  /** llama.cpp's name of its structure, such as `qwen2`. */
  architecture: string;
  use: GgufUse;
  /** The model's own name; null where the file has none. */
  name: string | null;
  parameters: number;
  /** Tokens that it was trained on at once; null where the file does not say. */
  contextTokens: number | null;
}

/** Lists of a vocabulary: hundreds of thousands of entries that say nothing of the model. */
const SKIPPED_KEYS = ['tokens', 'merges', 'scores', 'token_type', 'precompiled_charsmap'].map(
  (key) => `tokenizer.ggml.${key}`,
);
/** Structures of which there are no others than those that turn a text into a vector. */
const EMBEDDING_ONLY: ReadonlySet<string> = new Set([
  ...['bert', 'modern-bert', 'nomic-bert', 'nomic-bert-moe', 'neo-bert', 'jina-bert-v2', 'jina-bert-v3'],
  ...['eurobert', 'gemma-embedding', 'llama-embed', 't5encoder'],
]);
/** Parts of models, and models of other things than text: llama.cpp knows them, and nothing here can use them. */
const NO_TEXT_MODEL: ReadonlySet<string> = new Set([
  ...['clip', 't5', 'wavtokenizer-dec', 'qwen3tts', 'eagle3', 'dflash', 'gemma4-assistant', '(unknown)'],
]);
/** `LLAMA_POOLING_TYPE_NONE` and `LLAMA_POOLING_TYPE_RANK` of llama.cpp's `llama.h`. */
const POOLING = { none: 0, rank: 4 } as const;
/** Tensors that turn what was read into one score. */
const SCORE_TENSORS: ReadonlySet<string> = new Set(['cls.weight', 'cls.output.weight']);

/**
 * Reads what is in a GGUF, and checks that it can be used here: its header is whole, llama.cpp knows its architecture, it
 * is a model of its own in one file. Throws an Error that says what is wrong, without the file's name.
 */
export async function readGgufFacts(path: string): Promise<GgufFacts> {
  await checkGgufHeader(path);
  // Takes a quarter of a second to load, which only those pay who need it.
  const llama = await import('node-llama-cpp');
  const info = await llama.readGgufFileInfo(path, {
    sourceType: 'filesystem',
    spliceSplitFiles: false,
    ignoreKeys: SKIPPED_KEYS,
    logWarnings: false,
  });
  const general = info.metadata.general as Record<string, unknown> | undefined;
  const architecture = typeof general?.['architecture'] === 'string' ? general['architecture'] : '';
  if (architecture === '') throw new Error('it does not say of which architecture it is');
  const parts = numberOr((info.metadata as { split?: { count?: unknown } }).split?.count, 1);
  if (parts > 1) throw new Error(`it is one of ${parts} parts; choose a model that is one file`);
  const type = general?.['type'];
  if ((type !== undefined && type !== 'model') || NO_TEXT_MODEL.has(architecture)) {
    throw new Error(`it holds no text model but a part of one (${String(type ?? architecture)})`);
  }
  if (!knownArchitectures(llama).includes(architecture)) {
    throw new Error(`its architecture '${architecture}' is none that this version's llama.cpp knows`);
  }
  if (info.totalTensorCount === 0) throw new Error('it holds no weights');
  const traits = info.architectureMetadata as Record<string, unknown>;
  return {
    architecture,
    use: useOf(architecture, traits, info),
    name: typeof general?.['name'] === 'string' ? general['name'] : null,
    parameters: parametersOf(info),
    contextTokens: numberOr(traits['context_length'], null),
  };
}

/** An enum that is there at run time, although its type says that it is not. */
function knownArchitectures(llama: object): string[] {
  return Object.values((llama as { GgufArchitectureType: Record<string, string> }).GgufArchitectureType);
}

function useOf(architecture: string, traits: Record<string, unknown>, info: GgufFileInfo): GgufUse {
  const pooling = numberOr(traits['pooling_type'], POOLING.none);
  const scores = info.tensorInfo?.some(({ name }) => SCORE_TENSORS.has(name)) ?? false;
  if (pooling === POOLING.rank || scores) return 'rerank';
  return pooling !== POOLING.none || EMBEDDING_ONLY.has(architecture) ? 'embedding' : 'generation';
}

function parametersOf(info: GgufFileInfo): number {
  const sizes = info.tensorInfo?.map(({ dimensions }) =>
    dimensions.reduce<number>((all, size) => all * Number(size), 1),
  );
  return sizes?.reduce((sum, size) => sum + size, 0) ?? 0;
}

function numberOr<T>(value: unknown, fallback: T): number | T {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : fallback;
}
