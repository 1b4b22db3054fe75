import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { sendJsonStream } from '../http/json-stream.ts';
import { answerOf, answerPieces } from './answer.ts';
import { type EmbeddingDeps, embedTexts, refuseTokenIds } from './embed-texts.ts';
import { EmbeddingsAnswer, EmbeddingsRequest } from './schema.ts';

/** Vectors of an answer that is written in one go: some milliseconds. */
const MAX_AT_ONCE = 16;

/** `POST /v1/embeddings`. */
export function embeddingRoutes(app: App, deps: EmbeddingDeps): void {
  app.post(
    '/v1/embeddings',
    {
      schema: {
        summary: 'Turn texts into vectors',
        description:
          'Texts that mean the like have vectors whose dot product is near 1. The same text always has the same.',
        tags: ['Embeddings'],
        body: EmbeddingsRequest,
        response: { 200: EmbeddingsAnswer },
      },
      config: { scope: 'inference' },
      preValidation: async (request) => refuseTokenIds(request.body),
    },
    async (request, reply) => {
      const embedded = await embedTexts(deps, toCall(request), request.body, disconnectSignal(reply));
      if (embedded.vectors.length <= MAX_AT_ONCE) return answerOf(embedded);
      sendJsonStream(reply, answerPieces(embedded));
      return reply;
    },
  );
}
