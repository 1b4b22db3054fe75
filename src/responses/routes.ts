import { invalidValue } from '../errors.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal, sendEvents } from '../http/event-stream.ts';
import { streamed } from '../http/openapi.ts';
import { generationHeaders } from '../inference/view-generation.ts';
import { cancelResponse, followResponse, getResponse, startBackground } from './background.ts';
import { compactResponse } from './compact-response.ts';
import { CompactedResponse, CompactResponse, CountInputTokens, InputTokens } from './compaction-schema.ts';
import { countInputTokens } from './count-input-tokens.ts';
import { collectResponse, createResponse } from './create-response.ts';
import { ResponseEvent } from './event-schema.ts';
import { deleteResponse } from './find-response.ts';
import { InputItemsQuery, ResponseInputItemList } from './input-items-schema.ts';
import { listInputItems } from './list-input-items.ts';
import { responseSocketRoute } from './response-socket.ts';
import type { BackgroundDeps } from './run-background.ts';
import { CreateResponse, DeletedResponse, GetResponseQuery, ResponseParams, ResponseResource } from './schema.ts';

const tags = ['Responses'];
const config = { scope: 'inference' } as const;
const params = ResponseParams;
const response = { 200: streamed(ResponseResource, ResponseEvent) };

/** Sequence numbers start at 0. */
const FROM_START = -1;

/** Routes of `/v1/responses`. */
export function responseRoutes(app: App, deps: BackgroundDeps): void {
  creationRoute(app, deps);
  conversationRoutes(app, deps);
  readingRoutes(app, deps);
  endingRoutes(app, deps);
  responseSocketRoute(app, deps);
}

function creationRoute(app: App, deps: BackgroundDeps): void {
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
      const call = toCall(request);
      const signal = disconnectSignal(reply);
      if (body.background) {
        const queued = await startBackground(deps, call, body, {
          reservedTokens: request.rateLease?.reservedTokens ?? 0,
        });
        request.rateLease?.keepTokens();
        if (!body.stream) return queued;
        const events = await followResponse(deps, call, { id: queued.id, after: FROM_START }, signal);
        return sendEvents(reply, events);
      }
      const run = await createResponse(deps, call, body, { signal });
      // The head is sent before the first model call, so it cannot tell of its cache.
      reply.headers(generationHeaders(null, run.notices()));
      if (body.stream) return sendEvents(reply, run.events);
      const created = await collectResponse(run);
      const cachedTokens = created.usage?.input_tokens_details.cached_tokens ?? 0;
      reply.headers(generationHeaders(cachedTokens, run.notices()));
      return created;
    },
  );
}

function conversationRoutes(app: App, deps: BackgroundDeps): void {
  app.post(
    '/v1/responses/input_tokens',
    {
      schema: {
        summary: 'Count the input tokens of a response',
        description:
          'Tokens of the first prompt of a request, with its tools. Calls no model. Exact for models on this machine and on vLLM; otherwise an upper estimate.',
        tags,
        body: CountInputTokens,
        response: { 200: InputTokens },
      },
      config: { ...config, rateClass: 'general' },
    },
    async (request, reply) => countInputTokens(deps, toCall(request), request.body, disconnectSignal(reply)),
  );
  app.post(
    '/v1/responses/compact',
    {
      schema: {
        summary: 'Compact a conversation',
        description:
          'The model summarizes the conversation. `output` replaces it as the `input` of the next request: system messages, the newest messages of the user, and the summary as an encrypted `compaction`.',
        tags,
        body: CompactResponse,
        response: { 200: CompactedResponse },
      },
      config,
    },
    async (request, reply) => {
      const { response: compacted, notices } = await compactResponse(
        deps,
        toCall(request),
        request.body,
        disconnectSignal(reply),
      );
      const { cached_tokens: cachedTokens } = compacted.usage.input_tokens_details;
      reply.headers(generationHeaders(cachedTokens, notices));
      return compacted;
    },
  );
}

function readingRoutes(app: App, deps: BackgroundDeps): void {
  app.get(
    '/v1/responses/:response_id',
    {
      schema: {
        summary: 'One response',
        description:
          'Responses are stored for 24 hours. With `stream=true`: the events of a background response, from the first or after `starting_after`.',
        tags,
        params,
        querystring: GetResponseQuery,
        response,
      },
      config,
    },
    async (request, reply) => {
      const call = toCall(request);
      const { response_id: id } = request.params;
      const { stream = false, starting_after: after } = request.query;
      if (!stream && after !== undefined) throw invalidValue('starting_after', "needs 'stream'");
      if (!stream) return getResponse(deps, call, id);
      const events = await followResponse(deps, call, { id, after: after ?? FROM_START }, disconnectSignal(reply));
      return sendEvents(reply, events);
    },
  );
  app.get(
    '/v1/responses/:response_id/input_items',
    {
      schema: {
        summary: 'List the input items of a response',
        description:
          'The conversation before the output: the items of the responses that it continues, and its own input.',
        tags,
        params,
        querystring: InputItemsQuery,
        response: { 200: ResponseInputItemList },
      },
      config,
    },
    async (request) => listInputItems(deps, toCall(request), request.params.response_id, request.query),
  );
}

function endingRoutes(app: App, deps: BackgroundDeps): void {
  app.post(
    '/v1/responses/:response_id/cancel',
    {
      schema: {
        summary: 'Cancel a background response',
        description: 'A response that has ended is returned unchanged.',
        tags,
        params,
        response,
      },
      config: { ...config, rateClass: 'general' },
    },
    async (request) => cancelResponse(deps, toCall(request), request.params.response_id),
  );
  app.delete(
    '/v1/responses/:response_id',
    { schema: { summary: 'Delete a response', tags, params, response: { 200: DeletedResponse } }, config },
    async (request) => deleteResponse(deps, toCall(request), request.params.response_id),
  );
}
