import type { GgufFileInfo } from 'node-llama-cpp';

/** Keys and values are stored as F16. */
const BYTES_PER_VALUE = 2;

/** Metadata of a model. Head counts may be given per layer. */
interface AttentionFacts {
  block_count?: number;
  embedding_length?: number;
  attention?: {
    head_count?: number | number[];
    head_count_kv?: number | number[];
    key_length?: number;
    value_length?: number;
  };
}

/**
 * Returns the KV-cache bytes of one token, from GGUF metadata (`block_count`, `attention.*`). An upper estimate for
 * models that share or compress keys and values. 0 when the metadata are incomplete.
 */
export function kvBytesPerToken({ architectureMetadata }: Pick<GgufFileInfo, 'architectureMetadata'>): number {
  const {
    block_count: layers = 0,
    embedding_length: width = 0,
    attention = {},
  } = architectureMetadata as AttentionFacts;
  const heads = perLayer(attention.head_count ?? 1, layers);
  const kvHeads = perLayer(attention.head_count_kv ?? attention.head_count ?? 1, layers);
  let values = 0;
  for (let layer = 0; layer < layers; layer++) {
    const headWidth = width / (heads[layer] || 1);
    values += (kvHeads[layer] ?? 0) * ((attention.key_length ?? headWidth) + (attention.value_length ?? headWidth));
  }
  return values * BYTES_PER_VALUE;
}

function perLayer(count: number | number[], layers: number): number[] {
  return Array.isArray(count) ? count : Array.from({ length: layers }, () => count);
}
