import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { RETRIEVAL_DEFAULTS, type RetrievalDeps, retrieve } from './retrieve.ts';
import { RetrieveAnswer, RetrieveRequest } from './schema.ts';
import { viewChunk } from './view-chunk.ts';

/** `POST /v1/knowledge-bases/{kb_id}/retrieve`. */
export function retrievalRoutes(app: App, deps: RetrievalDeps): void {
  app.post(
    '/v1/knowledge-bases/:kb_id/retrieve',
    {
      schema: {
        summary: 'Search a knowledge base',
        tags: ['Knowledge bases'],
        params: KnowledgeBaseParams,
        body: RetrieveRequest,
        response: { 200: RetrieveAnswer },
      },
      config: { scope: 'knowledge' },
    },
    async (request, reply) => {
      const call = toCall(request);
      const { include_metadata = true, ...body } = request.body;
      const wanted = { ...RETRIEVAL_DEFAULTS, ...body };
      const base = await findKnowledgeBase(deps, call.caller.organizationId, request.params.kb_id);
      const found = await retrieve(deps, call, base, { ...wanted, signal: disconnectSignal(reply) });
      const results = found.map((chunk) => viewChunk(chunk, include_metadata));
      const { query, search_type } = wanted;
      return { object: 'list' as const, results, query, search_type, knowledge_base_id: base.id };
    },
  );
}
