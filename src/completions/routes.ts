import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal, sendEvents, waitForHead } from '../http/event-stream.ts';
import { streamed } from '../http/openapi.ts';
import { noticeHeaders } from '../inference/moderation-notice.ts';
import { cacheStatus } from '../inference/usage-view.ts';
import { toCompletionChunks } from './chunks.ts';
import { collectCompletion } from './collect-completion.ts';
import { Completion, CompletionChunk, CompletionRequest } from './schema.ts';
import { type CompletionDeps, startCompletion } from './start-completion.ts';

/** `POST /v1/completions`. */
export function completionRoutes(app: App, deps: CompletionDeps): void {
  app.post(
    '/v1/completions',
    {
      schema: {
        summary: 'Create a text completion (legacy)',
        description:
          'With `stream: true` the response is a stream of `text_completion` objects that ends with `[DONE]`.',
        tags: ['Completions'],
        body: CompletionRequest,
        response: { 200: streamed(Completion, CompletionChunk) },
      },
      config: { scope: 'inference' },
    },
    async (request, reply) => {
      const run = await startCompletion(deps, toCall(request), request.body, disconnectSignal(reply));
      if (request.body.stream) {
        const { cachedTokens = null } = (await waitForHead(run.started)) ?? {};
        reply.headers({ 'x-cache-status': cacheStatus(cachedTokens), ...noticeHeaders(run.notices()) });
        return sendEvents(reply, toCompletionChunks(run, request.body));
      }
      const completion = await collectCompletion(run, request.body);
      const { cached_tokens: cachedTokens } = completion.usage.prompt_tokens_details;
      reply.headers({ 'x-cache-status': cacheStatus(cachedTokens), ...noticeHeaders(run.notices()) });
      return completion;
    },
  );
}
