import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal, sendEvents } from '../http/event-stream.ts';
import { noticeHeaders } from '../inference/moderation-notice.ts';
import { cacheStatus } from '../inference/usage-view.ts';
import { collectResponse, createResponse } from './create-response.ts';
import { deleteResponse, getResponse } from './find-response.ts';
import type { ResponseDeps } from './prepare-response.ts';
import { CreateResponse, DeletedResponse, ResponseParams, ResponseResource } from './schema.ts';

const tags = ['Responses'];
const config = { scope: 'inference' } as const;
const params = ResponseParams;
const response = { 200: ResponseResource };

/** Routes of `/v1/responses`. */
export function responseRoutes(app: App, deps: ResponseDeps): void {
  app.post(
    '/v1/responses',
    {
      schema: {
        summary: 'Create a response',
        description:
          'Runs a loop in which the model searches knowledge bases (`file_search`) and calls functions, which the client executes. With `stream: true` the response is a stream of events that ends with `[DONE]`: `response.created`, `response.output_item.added`, `response.output_text.delta`, `response.output_text.done`, `response.output_item.done`, and `response.completed`, `response.incomplete` or `response.failed`.',
        tags,
        body: CreateResponse,
        response,
      },
      config,
    },
    async (request, reply) => {
      const { body } = request;
      const run = await createResponse(deps, toCall(request), body, disconnectSignal(reply));
      reply.headers({ 'x-cache-status': cacheStatus(run.cachedTokens), ...noticeHeaders(run.notice()) });
      if (body.stream) return sendEvents(reply, run.events, { keepAlive: true });
      const created = await collectResponse(run);
      const cachedTokens = created.usage?.input_tokens_details.cached_tokens ?? 0;
      reply.headers({ 'x-cache-status': cacheStatus(cachedTokens), ...noticeHeaders(run.notice()) });
      return created;
    },
  );
  app.get(
    '/v1/responses/:response_id',
    {
      schema: { summary: 'One response', description: 'Responses are stored for 24 hours.', tags, params, response },
      config,
    },
    async (request) => getResponse(deps, toCall(request), request.params.response_id),
  );
  app.delete(
    '/v1/responses/:response_id',
    { schema: { summary: 'Delete a response', tags, params, response: { 200: DeletedResponse } }, config },
    async (request) => deleteResponse(deps, toCall(request), request.params.response_id),
  );
}
