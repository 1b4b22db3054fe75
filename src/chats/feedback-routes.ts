import { listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import { ChatFeedback, DeletedFeedback, FeedbackListQuery, MessageFeedback, PutFeedback } from './feedback-schema.ts';
import { deleteFeedback, listFeedback, rateAnswer } from './rate-answer.ts';
import { ChatMessageParams } from './schema.ts';

const tags = ['Chats'];
const config = { scope: 'inference', openToViewers: true, rateClass: 'general' } as const;
const PATH = '/v1/chats/:chat_id/messages/:message_id/feedback';

/** Routes that rate answers, and the list of ratings for owners of the organization. */
export function chatFeedbackRoutes(app: App, deps: BackgroundDeps): void {
  const params = ChatMessageParams;
  app.put(
    PATH,
    {
      schema: {
        summary: 'Rate an answer',
        description: 'Owners of the organization can read the message, its answer and the comment.',
        tags,
        params,
        body: PutFeedback,
        response: { 200: MessageFeedback },
      },
      config,
    },
    async (request) => rateAnswer(deps, toCall(request), request.params, request.body),
  );
  app.delete(
    PATH,
    {
      schema: { summary: 'Delete the rating of an answer', tags, params, response: { 200: DeletedFeedback } },
      config,
    },
    async (request) => deleteFeedback(deps, toCall(request), request.params),
  );
  app.get(
    '/v1/chat-feedback',
    {
      schema: {
        summary: 'List the rated answers',
        description: 'Returns the ratings of the organization, newest message first. Requires an owner.',
        tags,
        querystring: FeedbackListQuery,
        response: { 200: listSchema(ChatFeedback) },
      },
      config: { scope: 'keys' },
    },
    async (request) => listFeedback(deps, toCall(request), request.query),
  );
}
