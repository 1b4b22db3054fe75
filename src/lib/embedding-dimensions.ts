/** Every model behind `/v1/embeddings` and every index has vectors of this many numbers. */
export const EMBEDDING_DIMENSIONS = 1024;
