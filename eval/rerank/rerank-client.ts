import type { ServiceClient } from '../../bench/harness/service-client.ts';

/** The model id under evaluation. */
export const RERANKER = 'reranker-v2-m3';

/** Scores documents with `POST /v1/rerank`, 0 to 1, in their order. */
export async function requestScores(
  service: ServiceClient,
  query: string,
  documents: readonly string[],
): Promise<number[]> {
  const body = { model: RERANKER, query, documents, return_documents: false };
  const { results } = await service.post<{ results: { index: number; relevance_score: number }[] }>('/v1/rerank', body);
  const scores = new Array<number>(documents.length).fill(Number.NaN);
  for (const { index, relevance_score: score } of results) scores[index] = score;
  if (scores.some(Number.isNaN))
    throw new Error(`${documents.length} documents were sent, ${results.length} scores came`);
  return scores;
}
