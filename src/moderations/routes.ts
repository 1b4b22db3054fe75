import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { classifyTexts, type ModerationDeps } from './classify-texts.ts';
import { ModerationAnswer, ModerationRequest } from './schema.ts';

/** `POST /v1/moderations`. */
export function moderationRoutes(app: App, deps: ModerationDeps): void {
  app.post(
    '/v1/moderations',
    {
      schema: {
        summary: 'Score texts for harm',
        description:
          'Five categories, each with a score from 0 to 1, flagged from 0.5 on. The texts are judged, not kept or logged.',
        tags: ['Moderations'],
        body: ModerationRequest,
        response: { 200: ModerationAnswer },
      },
      config: { scope: 'inference' },
    },
    async (request, reply) => classifyTexts(deps, toCall(request), request.body, disconnectSignal(reply)),
  );
}
