import type { GenerationRequest } from '../engine.ts';
import type { RoleTraits } from '../message-roles.ts';
import { type AttemptContext, attempt, type UpstreamRequest } from './attempt.ts';
import { remainingCompletionTokens } from './context-overflow.ts';
import { findContextOverflow, type UpstreamError } from './error-mapping.ts';
import type { DialectRequest, GenerationDialect } from './generation-dialect.ts';
import type { Exchange } from './http-exchange.ts';
import { arrangePrompt, excludeRoles, type LearnedRoles } from './learned-roles.ts';
import { affinityKey } from './prefix-affinity.ts';
import type { Replica } from './replicas.ts';

/** Context of a completion. */
export interface CompletionContext extends AttemptContext {
  dialect: GenerationDialect;
  /** Context length in tokens, for errors; null: unknown. */
  contextLength(): number | null;
  roles: LearnedRoles;
}

/** A response with status 2xx and its first bytes; null when it is empty. */
export interface StartedResponse {
  exchange: Exchange;
  replica: Replica;
  first: Buffer | null;
}

/**
 * Sends a request, with retries, until a response starts. Nothing is sent again after the first byte of a response.
 * Throws an `ApiError`, or the signal's reason.
 */
export function openCompletion(
  context: CompletionContext,
  original: GenerationRequest,
  signal: AbortSignal,
): Promise<StartedResponse> {
  const { timeouts, dialect } = context;
  const firstByteSeconds = original.incremental ? timeouts.firstByteSeconds : timeouts.wholeResponseSeconds;
  let request = original;
  let roles = context.roles.traits;
  let sent: DialectRequest | null = null;
  const completion: UpstreamRequest<StartedResponse> = {
    prepare: (endpoints) => {
      sent = dialect.prepare(withRoles(request, roles));
      return { path: endpoints[dialect.endpoint(request)], method: 'POST', body: sent.body, firstByteSeconds };
    },
    param: promptField(request),
    prefix: affinityKey(request),
    contextLength: context.contextLength,
    read: async (exchange, first, replica) => {
      context.roles.learn(roles);
      return { exchange, replica, first };
    },
    reviewRejection: (upstreamError, failed) => {
      const changed = withRoom(request, upstreamError) ?? sent?.adapt(upstreamError) ?? null;
      const { prompt } = request;
      const supported = prompt.kind === 'chat' ? excludeRoles(prompt, roles, upstreamError) : null;
      if (changed === null && supported === null) return failed;
      request = changed ?? request;
      roles = supported ?? roles;
      return { error: failed.error, isPassing: true, waitMs: 0 };
    },
  };
  return attempt(context, completion, signal);
}

function withRoles(request: GenerationRequest, roles: RoleTraits): GenerationRequest {
  const { prompt } = request;
  return prompt.kind === 'chat' ? { ...request, prompt: arrangePrompt(prompt, roles) } : request;
}

/** Where the prompt fits and `max_tokens` does not: a completion may end at the end of the context. */
function withRoom(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const overflow = findContextOverflow(upstreamError);
  const room = overflow && remainingCompletionTokens(overflow);
  return room !== null && request.maxTokens !== null && request.maxTokens > room
    ? { ...request, maxTokens: room }
    : null;
}

/** Field of the caller's request that has the prompt. */
export function promptField({ prompt }: GenerationRequest): 'messages' | 'prompt' {
  return prompt.kind === 'chat' ? 'messages' : 'prompt';
}
