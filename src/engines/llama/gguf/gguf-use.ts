import type { GgufFileInfo } from 'node-llama-cpp';

/** Purpose of the weights in a GGUF. */
export type GgufUse = 'generation' | 'embedding' | 'rerank';

/** llama.cpp's `LLAMA_POOLING_TYPE_*`: how token vectors are pooled. */
export const POOLING = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const;

/** Architectures that are always embedding models. */
const ENCODERS: ReadonlySet<string> = new Set([
  ...['bert', 'modern-bert', 'nomic-bert', 'nomic-bert-moe', 'neo-bert', 'jina-bert-v2', 'jina-bert-v3'],
  ...['eurobert', 'gemma-embedding', 'llama-embed', 't5encoder'],
]);
/** Components of models and models for other modalities: llama.cpp knows them, Quire does not use them. */
const NO_TEXT_MODELS: ReadonlySet<string> = new Set([
  ...['clip', 't5', 'wavtokenizer-dec', 'qwen3tts', 'pockettts', 'eagle3', 'dflash', 'gemma4-assistant', '(unknown)'],
]);
/** Tensors of a classification head with one score. */
const SCORE_TENSORS: ReadonlySet<string> = new Set(['cls.weight', 'cls.output.weight']);

/**
 * Detects the purpose of a GGUF by architecture, pooling and tensors: a decoder with pooling is an embedding model, a
 * model with a classification head is a reranker. Null: not a complete text model, such as an adapter. Does not check
 * that llama.cpp supports the architecture.
 */
export function detectGgufUse(info: GgufFileInfo): GgufUse | null {
  const { architecture, type } = info.metadata.general as { architecture: string; type?: unknown };
  if ((type !== undefined && type !== 'model') || NO_TEXT_MODELS.has(architecture)) return null;
  const pooling = readPoolingType(info);
  const tensors = info.fullTensorInfo ?? info.tensorInfo ?? [];
  if (pooling === POOLING.rank || tensors.some(({ name }) => SCORE_TENSORS.has(name))) return 'rerank';
  return pooling !== POOLING.none || ENCODERS.has(architecture) ? 'embedding' : 'generation';
}

/** Returns the pooling type; `POOLING.none` when the file has none. */
export function readPoolingType(info: GgufFileInfo): number {
  const { pooling_type: pooling } = info.architectureMetadata as { pooling_type?: unknown };
  return typeof pooling === 'number' || typeof pooling === 'bigint' ? Number(pooling) : POOLING.none;
}
