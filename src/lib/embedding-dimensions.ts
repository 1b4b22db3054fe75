/** Number of dimensions of every embedding model and search index. */
export const EMBEDDING_DIMENSIONS = 1024;
