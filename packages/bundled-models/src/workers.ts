/** Module of the worker thread with the embedding model, for `ModelThread`. */
export const EMBEDDING_WORKER = new URL('./embedding/worker.ts', import.meta.url);

/** Module of the worker thread with the moderation model. */
export const MODERATION_WORKER = new URL('./moderation/worker.ts', import.meta.url);

/** Module of the worker thread with the reranker. */
export const RERANK_WORKER = new URL('./rerank/worker.ts', import.meta.url);
