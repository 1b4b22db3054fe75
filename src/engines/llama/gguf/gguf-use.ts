import type { GgufFileInfo } from 'node-llama-cpp';

/** What the weights in a GGUF can be used for. */
export type GgufUse = 'generation' | 'embedding' | 'rerank';

/** llama.cpp's `LLAMA_POOLING_TYPE_*`: how the vectors of tokens become one. */
export const POOLING = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const;

/** Architectures of which there are no others than those that turn a text into a vector. */
const ENCODERS: ReadonlySet<string> = new Set([
  ...['bert', 'modern-bert', 'nomic-bert', 'nomic-bert-moe', 'neo-bert', 'jina-bert-v2', 'jina-bert-v3'],
  ...['eurobert', 'gemma-embedding', 'llama-embed', 't5encoder'],
]);
/** Parts of models, and models of other things than text: llama.cpp knows them, and nothing here can use them. */
const NO_TEXT_MODELS: ReadonlySet<string> = new Set([
  ...['clip', 't5', 'wavtokenizer-dec', 'qwen3tts', 'pockettts', 'eagle3', 'dflash', 'gemma4-assistant', '(unknown)'],
]);
/** Tensors that turn what was read into one score. */
const SCORE_TENSORS: ReadonlySet<string> = new Set(['cls.weight', 'cls.output.weight']);

/**
 * What a GGUF is for, by its architecture, its pooling and its tensors: a decoder that pools is an embedder, whatever has
 * a head for scores is a reranker. Null: no text model of its own, such as an adapter. Whether llama.cpp knows the
 * architecture is not looked at.
 */
export function detectGgufUse(info: GgufFileInfo): GgufUse | null {
  const { architecture, type } = info.metadata.general as { architecture: string; type?: unknown };
  if ((type !== undefined && type !== 'model') || NO_TEXT_MODELS.has(architecture)) return null;
  const pooling = readPoolingType(info);
  const tensors = info.fullTensorInfo ?? info.tensorInfo ?? [];
  if (pooling === POOLING.rank || tensors.some(({ name }) => SCORE_TENSORS.has(name))) return 'rerank';
  return pooling !== POOLING.none || ENCODERS.has(architecture) ? 'embedding' : 'generation';
}

/** How a model pools; `POOLING.none` where its file does not say. */
export function readPoolingType(info: GgufFileInfo): number {
  const { pooling_type: pooling } = info.architectureMetadata as { pooling_type?: unknown };
  return typeof pooling === 'number' || typeof pooling === 'bigint' ? Number(pooling) : POOLING.none;
}
