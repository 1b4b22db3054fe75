import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { classifyTexts, type ModerationDeps } from './classify-texts.ts';
import { ModerationRequest, ModerationResponse } from './schema.ts';

/** `POST /v1/moderations`. */
export function moderationRoutes(app: App, deps: ModerationDeps): void {
  app.post(
    '/v1/moderations',
    {
      schema: {
        summary: 'Score texts for harm',
        description:
          'Scores five categories from 0 to 1; a category is flagged at 0.5 and above. The texts are not stored or logged.',
        tags: ['Moderations'],
        body: ModerationRequest,
        response: { 200: ModerationResponse },
      },
      config: { scope: 'inference' },
    },
    async (request, reply) => classifyTexts(deps, toCall(request), request.body, disconnectSignal(reply)),
  );
}
