import { type ChatDeps, startChat } from '../../chat/start-chat.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal, sendEvents, waitForHead } from '../../http/event-stream.ts';
import { streamed } from '../../http/openapi.ts';
import { generationHeaders } from '../../inference/view-generation.ts';
import { newId } from '../../lib/ids.ts';
import { countMessageTokens } from './count-message-tokens.ts';
import { toMessageEvents } from './message-events.ts';
import { parseMessagesCall } from './parse-call.ts';
import { ANTHROPIC } from './protocol.ts';
import { AnthropicMessage, CountTokensRequest, MessageEvent, MessagesRequest, TokenCount } from './schema.ts';
import { collectMessage } from './view-message.ts';

const tags = ['Anthropic Messages'];

/** Anthropic's API: `POST /v1/messages` and `POST /v1/messages/count_tokens`. */
export function anthropicRoutes(app: App, deps: ChatDeps): void {
  app.post(
    '/v1/messages',
    {
      schema: {
        summary: 'Create a message',
        description:
          'For clients of Anthropic. The key may be in the header `x-api-key`. With `stream: true` the response is a stream of events that ends with `message_stop`.',
        tags,
        body: MessagesRequest,
        response: { 200: streamed(AnthropicMessage, MessageEvent) },
      },
      config: { scope: 'inference', protocol: ANTHROPIC },
    },
    async (request, reply) => {
      const { chat, showsThinking } = parseMessagesCall(deps, toCall(request), request.body);
      const run = await startChat(deps, chat, disconnectSignal(reply));
      const id = newId('message');
      if (chat.input.incremental) {
        const { cachedTokens = null } = (await waitForHead(run.started))?.generation ?? {};
        reply.headers(generationHeaders(cachedTokens, run.notices()));
        return sendEvents(reply, toMessageEvents(run, id, showsThinking));
      }
      const message = await collectMessage(run, id, showsThinking);
      reply.headers(generationHeaders(message.usage.cache_read_input_tokens, run.notices()));
      return message;
    },
  );
  app.post(
    '/v1/messages/count_tokens',
    {
      schema: {
        summary: 'Count the tokens of a message',
        description: 'Calls no model. Exact for models on this machine and on vLLM; otherwise an upper estimate.',
        tags,
        body: CountTokensRequest,
        response: { 200: TokenCount },
      },
      config: { scope: 'inference', rateClass: 'general', protocol: ANTHROPIC },
    },
    async (request, reply) => countMessageTokens(deps, toCall(request), request.body, disconnectSignal(reply)),
  );
}
