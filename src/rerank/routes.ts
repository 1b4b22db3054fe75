import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { noticeHeaders } from '../inference/moderation-notice.ts';
import { type RerankDeps, rerankDocuments } from './rerank-documents.ts';
import { RerankBody, RerankResponse } from './schema.ts';

/** `POST /v1/rerank`. */
export function rerankRoutes(app: App, deps: RerankDeps): void {
  app.post(
    '/v1/rerank',
    {
      schema: {
        summary: 'Rerank documents by relevance to a query',
        description:
          'Scores each document from 0 to 1, independent of the other documents and comparable between queries.',
        tags: ['Rerank'],
        body: RerankBody,
        response: { 200: RerankResponse },
      },
      config: { scope: 'inference' },
    },
    async (request, reply) => {
      const { response, notice } = await rerankDocuments(deps, toCall(request), request.body, disconnectSignal(reply));
      reply.headers(noticeHeaders([notice]));
      return response;
    },
  );
}
