import { isRecord } from '../../lib/json.ts';
import type { RerankEngineRequest } from '../rerank-engine.ts';
import type { JsonRequest } from './json-request.ts';

/** Scores as the server returns them, and reported tokens; null when there are none. */
export interface RawReranking {
  scores: number[];
  tokens: number | null;
}

/** A request format of rerank servers. */
export interface RerankDialect {
  /** Documents per request. */
  maxDocuments: number;
  jsonRequest(model: string, request: RerankEngineRequest): JsonRequest;
  /** Throws an Error with the reason for an invalid response. */
  read(response: unknown, count: number): RawReranking;
}

/** Maximum bytes of a response: some servers return the documents, up to 64 MiB per request. */
const MAX_RESPONSE_BYTES = 96 * 1024 * 1024;
/** Statuses of servers without this path, or without a field that only the other dialect has. */
const OTHER_DIALECT: ReadonlySet<number> = new Set([404, 405, 422]);

/** Format of Cohere and Jina at `/v1/rerank`, also of vLLM, Infinity, llama-server and SGLang. */
const COHERE: RerankDialect = {
  maxDocuments: 1000,
  jsonRequest: (model, { query, documents }) => ({
    endpoint: 'rerank',
    body: JSON.stringify({ model, query, documents, return_documents: false }),
    param: 'documents',
    maxResponseBytes: MAX_RESPONSE_BYTES,
    otherDialect: OTHER_DIALECT,
  }),
  read(response, count) {
    if (!isRecord(response)) throw new Error('the response is not an object');
    return { scores: readScores(response['results'] ?? response['data'], count), tokens: readTokenCount(response) };
  },
};

/**
 * Format of Text Embeddings Inference at `/rerank`. It takes 32 texts by default, and rejects long ones unless told to
 * truncate them.
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
  read: (response, count) => ({ scores: readScores(response, count), tokens: null }),
};

/** In the order in which they are tried. */
export const RERANK_DIALECTS: readonly RerankDialect[] = [COHERE, TEXTS];

/**
 * Parses `[{index, relevance_score | score}]` in any order, with every document once, to scores in the order of the
 * documents.
 */
function readScores(results: unknown, count: number): number[] {
  if (!Array.isArray(results)) throw new Error('the response has no list of results');
  if (results.length !== count) throw new Error(`${results.length} results for ${count} documents`);
  const scores = new Array<number | undefined>(count);
  for (const result of results) {
    const { index, relevance_score: relevance, score = relevance } = isRecord(result) ? result : {};
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw new Error('a result has no valid document index');
    }
    if (typeof score !== 'number' || !Number.isFinite(score)) throw new Error(`the score of ${index} is not a number`);
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
