import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { RETRIEVAL_DEFAULTS, type RetrievalDeps, retrieve } from './retrieve.ts';
import { RetrieveRequest, RetrieveResponse } from './schema.ts';
import { viewRetrievedChunk } from './view-retrieved-chunk.ts';

/** Route `POST /v1/knowledge-bases/{kb_id}/retrieve`. */
export function retrievalRoutes(app: App, deps: RetrievalDeps): void {
  app.post(
    '/v1/knowledge-bases/:kb_id/retrieve',
    {
      schema: {
        summary: 'Search a knowledge base',
        tags: ['Knowledge bases'],
        params: KnowledgeBaseParams,
        body: RetrieveRequest,
        response: { 200: RetrieveResponse },
      },
      config: { scope: 'knowledge', usesTokens: true },
    },
    async (request, reply) => {
      const call = toCall(request);
      const { include_metadata = true, include_scores = false, ...body } = request.body;
      const params = { ...RETRIEVAL_DEFAULTS, ...body };
      const base = await findKnowledgeBase(deps, call.caller.organizationId, request.params.kb_id);
      const chunks = await retrieve(deps, call, base, { ...params, signal: disconnectSignal(reply) });
      const include = { metadata: include_metadata, scores: include_scores };
      const results = chunks.map((chunk) => viewRetrievedChunk(chunk, include));
      const { query } = params;
      const isByKeyword = chunks.length > 0 && chunks.every(({ scores }) => scores.vector === null);
      const search_type = isByKeyword ? 'keyword' : params.search_type;
      return { object: 'list' as const, results, query, search_type, knowledge_base_id: base.id };
    },
  );
}
