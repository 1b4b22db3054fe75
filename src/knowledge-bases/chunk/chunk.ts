/** How large chunks are, in tokens of the embedding model. */
export interface ChunkSizes {
  /** 16 to 2048. */
  chunkSizeTokens: number;
  /** 0 to one less than the size: how much of its predecessor a chunk begins with. */
  chunkOverlapTokens: number;
}

/** How a knowledge base cuts its documents. */
export interface ChunkingStrategy extends ChunkSizes {
  type: 'recursive' | 'fixed_size' | 'semantic';
}

/** A piece of a document: `text.slice(startIndex, endIndex)` of its extracted text. */
export interface Chunk {
  startIndex: number;
  endIndex: number;
  /** As the embedding model counts them; never more than the strategy's size. */
  tokens: number;
  /** The headings above what it adds to its predecessor, the highest first. */
  headingPath: string[];
  /** The page on which that begins, from 1; null where the format has no pages. */
  page: number | null;
}

/** What chunking asks of the embedding model. */
export interface ChunkingModel {
  /** Tokens of each text, without what the model adds itself. */
  countTokens(texts: readonly string[], signal: AbortSignal): Promise<number[]>;
  /** A vector of each text, L2-normalised. Asked by `semantic` only. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}
