import type { TextBox } from '../extraction/extracted-document.ts';

/** Chunk sizes in tokens of the embedding model. */
export interface ChunkSizes {
  /** 16 to 2048. */
  chunkSizeTokens: number;
  /** Tokens that a chunk repeats of its predecessor: 0 to `chunkSizeTokens` - 1. */
  chunkOverlapTokens: number;
}

/** Chunking parameters of a knowledge base. */
export interface ChunkingStrategy extends ChunkSizes {
  type: 'recursive' | 'fixed_size' | 'semantic';
}

/** Where a part of a document is. */
export interface TextPlace {
  /** Headings above, the highest level first. */
  headingPath: string[];
  /** From 1; null for formats without pages. */
  page: number | null;
}

/**
 * A chunk of a document: `text.slice(startIndex, endIndex)` of its extracted text. Its place is that of its first
 * character that is not overlap.
 */
export interface TextChunk extends TextPlace {
  startIndex: number;
  endIndex: number;
  /** Token count of the embedding model; at most the strategy's size. */
  tokens: number;
  /** Places of the text from an offset of the document on; null when all of the chunk is where its beginning is. */
  laterPlaces: (TextPlace & { start: number })[] | null;
  /** Cells of a sheet that the chunk contains, such as `Costs!A2:C9`; null for formats without cells. */
  cells: string | null;
  /** Where OCR read the lines of the chunk, with offsets of the document; null for text that OCR did not read. */
  boxes: TextBox[] | null;
}

/** The embedding model as chunking uses it. */
export interface ChunkingModel {
  /** Returns the tokens of each text, without special tokens. */
  countTokens(texts: readonly string[], signal: AbortSignal): Promise<number[]>;
  /** Returns an L2-normalised vector of each text. Only used by the `semantic` strategy. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}
