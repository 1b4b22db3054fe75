import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { sendJsonStream } from '../http/json-stream.ts';
import { noticeHeaders } from '../inference/moderation-notice.ts';
import { type EmbeddingDeps, embedTexts, rejectTokenIds } from './embed-texts.ts';
import { embeddingsResponse, streamEmbeddingsResponse } from './response.ts';
import { EmbeddingsRequest, EmbeddingsResponse } from './schema.ts';

/** Largest response that is serialized without yielding to the event loop (a few milliseconds). */
const MAX_UNSLICED_VECTORS = 16;

/** `POST /v1/embeddings`. */
export function embeddingRoutes(app: App, deps: EmbeddingDeps): void {
  app.post(
    '/v1/embeddings',
    {
      schema: {
        summary: 'Create embeddings',
        description:
          'Returns one L2-normalized vector per text: the dot product of two vectors is their cosine similarity. Equal texts have equal vectors.',
        tags: ['Embeddings'],
        body: EmbeddingsRequest,
        response: { 200: EmbeddingsResponse },
      },
      config: { scope: 'inference' },
      preValidation: async (request) => rejectTokenIds(request.body),
    },
    async (request, reply) => {
      const embedded = await embedTexts(deps, toCall(request), request.body, disconnectSignal(reply));
      reply.headers(noticeHeaders([embedded.notice]));
      if (embedded.vectors.length <= MAX_UNSLICED_VECTORS) return embeddingsResponse(embedded);
      sendJsonStream(reply, streamEmbeddingsResponse(embedded));
      return reply;
    },
  );
}
