import type { App } from '../http/app.ts';
import { callOf } from '../http/auth.ts';
import { callerGone } from '../http/event-stream.ts';
import { sendJsonPieces } from '../http/json-pieces.ts';
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
      const embedded = await embedTexts(deps, callOf(request), request.body, callerGone(reply));
      if (embedded.vectors.length <= MAX_AT_ONCE) return answerOf(embedded);
      sendJsonPieces(reply, answerPieces(embedded));
      return reply;
    },
  );
}
