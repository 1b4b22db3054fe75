import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal, sendEvents, waitForHead } from '../http/event-stream.ts';
import { streamed } from '../http/openapi.ts';
import { generationHeaders } from '../inference/view-generation.ts';
import { toChunks } from './chunks.ts';
import { collectChat } from './collect-chat.ts';
import { parseChatCall } from './parse-call.ts';
import { ChatCompletion, ChatCompletionChunk, ChatRequest } from './schema.ts';
import { type ChatDeps, startChat } from './start-chat.ts';

/** `POST /v1/chat/completions`. */
export function chatRoutes(app: App, deps: ChatDeps): void {
  app.post(
    '/v1/chat/completions',
    {
      schema: {
        summary: 'Create a chat completion',
        description:
          'With `stream: true` the response is a stream of `chat.completion.chunk` objects that ends with `[DONE]`.',
        tags: ['Chat'],
        body: ChatRequest,
        response: { 200: streamed(ChatCompletion, ChatCompletionChunk) },
      },
      config: { scope: 'inference' },
    },
    async (request, reply) => {
      const chat = parseChatCall(deps, toCall(request), request.body);
      const run = await startChat(deps, chat, disconnectSignal(reply));
      if (chat.input.incremental) {
        const { cachedTokens = null } = (await waitForHead(run.started))?.generation ?? {};
        reply.headers(generationHeaders(cachedTokens, run.notices()));
        return sendEvents(reply, toChunks(run));
      }
      const completion = await collectChat(run);
      const { cached_tokens: cachedTokens } = completion.usage.prompt_tokens_details;
      reply.headers(generationHeaders(cachedTokens, run.notices()));
      return completion;
    },
  );
}
