import type { GenerationRequest } from '../engine.ts';
import { prependText } from '../prompt-images.ts';
import { type AttemptContext, attempt, type UpstreamRequest } from './attempt.ts';
import { remainingCompletionTokens } from './context-overflow.ts';
import { findContextOverflow, rejectsField, rejectsSystemRole, type UpstreamError } from './error-mapping.ts';
import type { Exchange } from './http-exchange.ts';
import type { Replica } from './replicas.ts';
import { type BodyFacts, requestBody } from './request-body.ts';

/** Context of a completion. */
export interface CompletionContext extends AttemptContext {
  facts(): BodyFacts;
  /** Context length in tokens, for errors; null: unknown. */
  contextLength(): number | null;
}

/** A response with status 2xx and its first bytes; null when it is empty. */
export interface StartedResponse {
  exchange: Exchange;
  replica: Replica;
  first: Buffer | null;
}

/** Parameters that only tune the answer: a server that does not know one, or its value, gets the request without it. */
const HINTS = ['reasoning_effort', 'verbosity'];

/**
 * Sends a request, with retries, until a response starts. Nothing is sent again after the first byte of a response.
 * Throws an `ApiError`, or the signal's reason.
 */
export function openCompletion(
  context: CompletionContext,
  original: GenerationRequest,
  signal: AbortSignal,
): Promise<StartedResponse> {
  const { timeouts } = context;
  const firstByteSeconds = original.incremental ? timeouts.firstByteSeconds : timeouts.wholeResponseSeconds;
  let request = original;
  const completion: UpstreamRequest<StartedResponse> = {
    prepare: (endpoints) => ({
      path: request.prompt.kind === 'chat' ? endpoints.chat : endpoints.text,
      method: 'POST',
      body: requestBody(request, context.facts()),
      firstByteSeconds,
    }),
    param: promptField(request),
    contextLength: context.contextLength,
    read: async (exchange, first, replica) => ({ exchange, replica, first }),
    reviewRejection: (upstreamError, failed) => {
      const changed =
        withRoom(request, upstreamError) ??
        withoutRejectedHint(request, upstreamError) ??
        withoutSystemRole(request, upstreamError);
      if (changed === null) return failed;
      request = changed;
      return { error: failed.error, isPassing: true, waitMs: 0 };
    },
  };
  return attempt(context, completion, signal);
}

/** Where the prompt fits and `max_tokens` does not: a completion may end at the end of the context. */
function withRoom(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const overflow = findContextOverflow(upstreamError);
  const room = overflow && remainingCompletionTokens(overflow);
  return room !== null && request.maxTokens !== null && request.maxTokens > room
    ? { ...request, maxTokens: room }
    : null;
}

function withoutRejectedHint(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const { upstreamParameters = {} } = request;
  const hint = HINTS.find((name) => name in upstreamParameters && rejectsField(upstreamError, name));
  if (hint === undefined) return null;
  const { [hint]: _, ...others } = upstreamParameters;
  return { ...request, upstreamParameters: others };
}

/** Where the chat template has no system role, as that of Gemma 2, the system message begins the first user message. */
function withoutSystemRole(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const { prompt } = request;
  if (prompt.kind !== 'chat' || !rejectsSystemRole(upstreamError)) return null;
  const [first, second, ...others] = prompt.messages;
  if (first?.role !== 'system' || second?.role !== 'user') return null;
  const messages = [prependText(second, `${first.content ?? ''}\n\n`), ...others];
  return { ...request, prompt: { ...prompt, messages } };
}

/** Field of the caller's request that has the prompt. */
export function promptField({ prompt }: GenerationRequest): 'messages' | 'prompt' {
  return prompt.kind === 'chat' ? 'messages' : 'prompt';
}
