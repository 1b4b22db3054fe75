import { requireUnexpired } from '../../knowledge-bases/expiry.ts';
import {
  RETRIEVAL_DEFAULTS,
  type RetrievalDeps,
  retrieve,
  type ScoredChunk,
} from '../../knowledge-bases/retrieval/retrieve.ts';
import type { Call } from '../../lib/caller.ts';
import { settleAll } from '../../lib/settle-all.ts';
import { parseAttributeFilter } from '../../responses/parse-attribute-filter.ts';
import { findStore } from './ids.ts';
import type { SearchVectorStore, VectorStoreSearch } from './schema.ts';
import { selectFilesOfDocuments } from './store.ts';
import { toFileId, viewAttributes } from './view.ts';

/**
 * Searches a store with each query and returns the best chunks over all of them. Throws 404 `vector_store_not_found`,
 * 400 for an expired store and an invalid filter, and as `retrieve` does.
 */
export async function searchStore(
  deps: RetrievalDeps,
  call: Call,
  { storeId, body, signal }: { storeId: string; body: SearchVectorStore; signal: AbortSignal },
): Promise<VectorStoreSearch> {
  const base = await findStore(deps, call.caller.organizationId, storeId);
  requireUnexpired(base, deps.now(), 'vector_store_id');
  const { filters, ranking_options: ranking, max_num_results: top_k = RETRIEVAL_DEFAULTS.top_k } = body;
  const queries = [body.query].flat();
  const params = {
    ...RETRIEVAL_DEFAULTS,
    top_k,
    conditions: filters === undefined ? [] : parseAttributeFilter(filters, 'filters'),
    min_score: ranking?.score_threshold ?? RETRIEVAL_DEFAULTS.min_score,
    rerank: ranking?.ranker === 'default-2024-11-15',
    signal,
  };
  const results = await settleAll(queries.map((query) => retrieve(deps, call, base, { ...params, query })));
  const chunks = bestOfEach(results.flat()).slice(0, top_k);
  const documentIds = [...new Set(chunks.map(({ documentId }) => documentId))];
  const files = await selectFilesOfDocuments(deps.db.sql, base.id, documentIds);
  return {
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: chunks.flatMap(({ documentId, documentName, score, text }) => {
      const file = files.get(documentId);
      if (file === undefined) return [];
      const content = [{ type: 'text' as const, text }];
      return [{ file_id: toFileId(file), filename: documentName, score, attributes: viewAttributes(file), content }];
    }),
    has_more: false,
    next_page: null,
  };
}

/** The chunks with their best scores, best first. */
function bestOfEach(chunks: readonly ScoredChunk[]): ScoredChunk[] {
  const best = new Map<string, ScoredChunk>();
  for (const chunk of chunks.toSorted((a, b) => b.score - a.score)) if (!best.has(chunk.id)) best.set(chunk.id, chunk);
  return [...best.values()];
}
