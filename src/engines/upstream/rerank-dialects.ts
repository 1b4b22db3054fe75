import type { RerankEngineRequest } from '../rerank-engine.ts';
import type { JsonRequest } from './json-request.ts';
import { isRecord } from './upstream-chunk.ts';

/** Scores of the documents asked about, as the server gives them, and its count of tokens; null where it tells none. */
export interface RawReranking {
  scores: number[];
  tokens: number | null;
}

/** One of the ways in which servers are asked to rerank. */
export interface RerankDialect {
  /** Documents of one question. */
  maxDocuments: number;
  jsonRequest(model: string, request: RerankEngineRequest): JsonRequest;
  /** Throws an Error that says what is wrong with the answer. */
  read(answer: unknown, count: number): RawReranking;
}

/** Bytes of an answer: some servers send the documents back, and those of one request may have 64 MiB. */
const MAX_RESPONSE_BYTES = 96 * 1024 * 1024;
/** What a server answers that has no such path, or that misses a field which only the other kind has. */
const OTHER_DIALECT: ReadonlySet<number> = new Set([404, 405, 422]);

/** Cohere's and Jina's body at `/v1/rerank`, as vLLM, Infinity, llama-server and SGLang take it too. */
const COHERE: RerankDialect = {
  maxDocuments: 1000,
  jsonRequest: (model, { query, documents }) => ({
    endpoint: 'rerank',
    body: JSON.stringify({ model, query, documents, return_documents: false }),
    param: 'documents',
    maxResponseBytes: MAX_RESPONSE_BYTES,
    otherDialect: OTHER_DIALECT,
  }),
  read(answer, count) {
    if (!isRecord(answer)) throw new Error('the answer is no object');
    return { scores: readScores(answer['results'] ?? answer['data'], count), tokens: readTokenCount(answer) };
  },
};

/**
 * Text Embeddings Inference's own at `/rerank`. It takes 32 texts unless it was started otherwise, and refuses long ones
 * unless it is told to cut them.
 */
const TEXTS: RerankDialect = {
  maxDocuments: 32,
  jsonRequest: (_model, { query, documents }) => ({
    endpoint: 'rerankTexts',
    body: JSON.stringify({ query, texts: documents, raw_scores: false, truncate: true }),
    param: 'documents',
    maxResponseBytes: MAX_RESPONSE_BYTES,
    otherDialect: OTHER_DIALECT,
  }),
  read: (answer, count) => ({ scores: readScores(answer, count), tokens: null }),
};

/** In the order in which a server is tried. */
export const RERANK_DIALECTS: readonly RerankDialect[] = [COHERE, TEXTS];

/** `[{index, relevance_score | score}]` in any order, every document once, as scores in the order of the documents. */
function readScores(results: unknown, count: number): number[] {
  if (!Array.isArray(results)) throw new Error('the answer has no list of results');
  if (results.length !== count) throw new Error(`${results.length} results for ${count} documents`);
  const scores = new Array<number | undefined>(count);
  for (const result of results) {
    const { index, relevance_score: relevance, score = relevance } = isRecord(result) ? result : {};
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw new Error('a result has no index of a document');
    }
    if (typeof score !== 'number' || !Number.isFinite(score)) throw new Error(`the score of ${index} is no number`);
    if (scores[index] !== undefined) throw new Error(`two results for document ${index}`);
    scores[index] = score;
  }
  return scores as number[];
}

/** OpenAI-style `usage`, or Cohere's `meta.tokens`. */
function readTokenCount({ usage, meta }: Record<string, unknown>): number | null {
  const counted = isRecord(meta) && isRecord(meta['tokens']) ? meta['tokens']['input_tokens'] : null;
  const reported = isRecord(usage) ? (usage['total_tokens'] ?? usage['prompt_tokens']) : counted;
  return typeof reported === 'number' && Number.isFinite(reported) && reported > 0 ? Math.floor(reported) : null;
}
