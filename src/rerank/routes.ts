import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { type RerankDeps, rerankDocuments } from './rerank-documents.ts';
import { RerankAnswer, RerankRequest } from './schema.ts';

/** `POST /v1/rerank`. */
export function rerankRoutes(app: App, deps: RerankDeps): void {
  app.post(
    '/v1/rerank',
    {
      schema: {
        summary: 'Order documents by how well they answer a query',
        description:
          'Each document gets a score from 0 to 1 of its own: the same beside any others, and comparable between queries.',
        tags: ['Rerank'],
        body: RerankRequest,
        response: { 200: RerankAnswer },
      },
      config: { scope: 'inference' },
    },
    async (request, reply) => rerankDocuments(deps, toCall(request), request.body, disconnectSignal(reply)),
  );
}
