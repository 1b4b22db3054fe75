import type { ServiceClient } from '../../bench/harness/service-client.ts';

/** The model id that is asked. */
export const RERANKER = 'reranker-v2-m3';

/** The score of each document for the query, 0..1, in the order of the documents, from `POST /v1/rerank`. */
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
