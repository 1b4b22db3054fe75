import type { Static, TSchema } from 'typebox';
import { collectChat } from '../chat/collect-chat.ts';
import { parseChatCall } from '../chat/parse-call.ts';
import { ChatRequest } from '../chat/schema.ts';
import { type ChatDeps, startChat } from '../chat/start-chat.ts';
import { collectCompletion } from '../completions/collect-completion.ts';
import { parseCompletionCall } from '../completions/parse-call.ts';
import { CompletionRequest } from '../completions/schema.ts';
import { type CompletionDeps, startCompletion } from '../completions/start-completion.ts';
import type { Deps } from '../deps.ts';
import { type EmbeddingDeps, embedTexts, rejectTokenIds } from '../embeddings/embed-texts.ts';
import { streamEmbeddingsResponse } from '../embeddings/response.ts';
import { EmbeddingsRequest } from '../embeddings/schema.ts';
import { guardBody } from '../http/body-guard.ts';
import { parse } from '../http/validation.ts';
import type { CallKind } from '../inference/call-kinds.ts';
import type { Call } from '../lib/caller.ts';
import type { BatchEndpointPath } from './schema.ts';

/** Dependencies of the lines of all endpoints. */
export type BatchLineDeps = ChatDeps & CompletionDeps & EmbeddingDeps & Pick<Deps, 'logCall'>;

/** Body of a line: a JSON object that its endpoint has not validated yet. */
export type LineBody = Readonly<Record<string, unknown>>;

/** An endpoint that lines may call. */
export interface BatchEndpoint {
  kind: CallKind;
  /**
   * Validates the body and runs the use case of the route, without streaming. Resolves with the JSON text of the
   * response; throws what the route would answer with.
   */
  complete(deps: BatchLineDeps, call: Call, body: LineBody, signal: AbortSignal): Promise<string>;
  /** The prompt as text, in the order in which a model reads it. Accepts any body. */
  promptText(body: LineBody): string;
  /** Estimated bytes of the response. Accepts any body. */
  responseBytes(body: LineBody): number;
}

/** JSON of 1024 floats. */
const EMBEDDING_BYTES = 22_000;
/** Typical completions are far shorter. */
const COMPLETION_BYTES = 16_384;

/** The endpoints of `BATCH_ENDPOINTS`. */
export const ENDPOINTS: Readonly<Record<BatchEndpointPath, BatchEndpoint>> = {
  '/v1/chat/completions': {
    kind: 'chat',
    complete: async (deps, call, body, signal) => {
      const chat = parseChatCall(deps, call, parseBody(ChatRequest, body));
      return JSON.stringify(await collectChat(await startChat(deps, chat, signal)));
    },
    promptText: ({ model, tools, messages }) => JSON.stringify([model, tools, messages]),
    responseBytes: () => COMPLETION_BYTES,
  },
  '/v1/completions': {
    kind: 'completion',
    complete: async (deps, call, body, signal) => {
      const completion = parseCompletionCall(deps, call, parseBody(CompletionRequest, body));
      return JSON.stringify(await collectCompletion(await startCompletion(deps, completion, signal)));
    },
    promptText: ({ model, prompt }) => JSON.stringify([model, prompt]),
    responseBytes: () => COMPLETION_BYTES,
  },
  '/v1/embeddings': {
    kind: 'embedding',
    complete: async (deps, call, body, signal) => {
      rejectTokenIds(body);
      const embedded = await embedTexts(deps, call, parseBody(EmbeddingsRequest, body), signal);
      return (await Array.fromAsync(streamEmbeddingsResponse(embedded))).join('');
    },
    // Embeddings have no prefix cache. Lines that run together are batched by the engine.
    promptText: ({ model }) => JSON.stringify([model]),
    responseBytes: ({ input }) => (Array.isArray(input) ? input.length : 1) * EMBEDDING_BYTES,
  },
};

/** Checks a body as `http/json-body.ts` and the validator of a route do. Throws 400. */
function parseBody<T extends TSchema>(schema: T, body: LineBody): Static<T> {
  guardBody(body);
  return parse(schema, body, '');
}
