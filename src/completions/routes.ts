import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal, sendEvents, waitForHead } from '../http/event-stream.ts';
import { streamed } from '../http/openapi.ts';
import { generationHeaders } from '../inference/view-generation.ts';
import { toCompletionChunks } from './chunks.ts';
import { collectCompletion } from './collect-completion.ts';
import { parseCompletionCall } from './parse-call.ts';
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
      const completion = parseCompletionCall(deps, toCall(request), request.body);
      const run = await startCompletion(deps, completion, disconnectSignal(reply));
      if (completion.inputs[0].incremental) {
        const { cachedTokens = null } = (await waitForHead(run.started)) ?? {};
        reply.headers(generationHeaders(cachedTokens, run.notices()));
        return sendEvents(reply, toCompletionChunks(run));
      }
      const collected = await collectCompletion(run);
      const { cached_tokens: cachedTokens } = collected.usage.prompt_tokens_details;
      reply.headers(generationHeaders(cachedTokens, run.notices()));
      return collected;
    },
  );
}
